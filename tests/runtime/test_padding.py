"""Rows past the live ones: what a padded buffer holds there, and what one that is not padded does not."""

from __future__ import annotations

import pytest
import torch

from plait.runtime.devices.adversary.device import Adversary
from plait.runtime.devices.cpu import Cpu
from plait.runtime.runner import BindError

LOADED = """\
spec 1
pipeline p {
  dim bs in [2, 4]
  stream main
  buffer lens : i64[bs] on host copies 2 pad 0
  buffer most : i64[1] carried
  join prev longest into host
  phase admit on host { writes lens }
  phase longest on main across_rows { reads lens  writes most }
}
"""


def longest(lens, most):
    most.copy_(lens.amax(0, keepdim=True))


def test_behind_a_load_the_other_rows_hold_what_is_declared(compiled) -> None:
    """A host phase loads the live rows of its own round; those of larger rounds before are gone."""
    rounds = [[5, 6, 7, 8], [9, 1, 1, 1], [3, 2, 4], [1], [1, 2]]
    seen = []
    todo = iter(rounds)

    def admit(lens):
        rows = next(todo)
        lens[: len(rows)] = torch.tensor(rows)

    with compiled(LOADED).bind({"admit": admit, "longest": longest}) as runner:
        for rows in rounds:
            runner.step(bs=len(rows))
            runner.drain()
            seen.append(int(runner.buffer("most")))
    assert seen == [max(rows) for rows in rounds]


LEFT = """\
spec 1
pipeline p {{
  dim bs in [1, 4]
  stream main
  buffer x : i64[bs, 2] carried {attribute} pad -1
  buffer sum : i64[1] carried
  {open}
    phase look on main across_rows {{ reads {what} as x  writes sum }}
    phase grow on main {{ updates x }}
  {close}
}}
"""
GRAPH = "capture g on main rows bs {"


@pytest.mark.parametrize(("open", "close"), [("", ""), (GRAPH, "}")])
@pytest.mark.parametrize("attribute", ["", "static"])
@pytest.mark.parametrize(("what", "columns"), [("x", 2), ("x[_, 1]", 1), ("x[0 .. 2, 1]", 1)])
def test_what_an_earlier_round_left_is_padded_for_who_reads_it(
    open: str, close: str, attribute: str, what: str, columns: int, compiled
) -> None:
    """In a phase and in a graph: a larger round's rows are not seen by a smaller one."""
    if "0 .. 2" in what and open:
        text = LEFT.replace("[1, 4]", "[3, 4]")
    else:
        text = LEFT if "0 .. 2" not in what else LEFT.replace("[1, 4]", "[3, 4]")
    schedule = compiled(text.format(open=open, close=close, attribute=attribute, what=what))
    bodies = {
        "look": lambda x, sum: sum.copy_(x.sum().view(1)),
        "grow": lambda x: x.add_(10),
    }
    with schedule.bind(bodies) as runner:
        for live in (4, 4, 2, 1, 3):
            before = runner.buffer("x").clone()
            runner.step(bs=live)
            runner.drain()
            least = schedule.buckets[0].sizes[0][1]
            size = least if live <= least else 4
            rows = before[:size].clone()
            rows[live:] = -1
            if "0 .. 2" in what:
                rows = rows[:3]
            assert int(runner.buffer("sum")) == int(rows[:, :columns].sum()), live
            assert torch.equal(runner.buffer("x")[:live], before[:live] + 10)


PREVIOUS = """\
spec 1
pipeline p {
  dim bs in [1, 2, 4]
  stream main
  stream side
  buffer x    : i64[bs] copies 2 PAD
  buffer seen : i64[bs] carried
  phase make on main { writes x }
  fork side from prev make
  phase look on side { reads prev x  writes seen }
  join side into main
}
"""


@pytest.mark.parametrize("pad", ["", "pad -1"])
def test_a_value_of_another_bucket_is_right_in_the_rows_of_both(pad: str, compiled) -> None:
    """`prev` of a smaller or larger round: live rows of both are its own, and past them the pad if any."""
    made = []

    def make(x):
        made.append(len(made) + 1)
        x.copy_(torch.arange(len(x)) + 100 * made[-1])

    lives = [4, 1, 2, 4, 3, 1, 1, 4, 2]
    with compiled(PREVIOUS.replace("PAD", pad)).bind(
        {"make": make, "look": lambda x, seen: seen.copy_(x)}
    ) as runner:
        for round, live in enumerate(lives):
            runner.step(bs=live)
            runner.drain()
            if not round:
                continue
            both = min(live, lives[round - 1])
            seen = runner.buffer("seen").tolist()
            assert seen[:both] == [100 * round + row for row in range(both)]
            if pad:
                size = next(size for size in (1, 2, 4) if size >= live)
                assert seen[both:size] == [-1] * (size - both)


OPAQUE = """\
spec 1
pipeline p {
  dim bs in [1, 4]
  stream main
  stream side
  buffer m    : opaque copies 2
  buffer seen : i64[4] carried
  phase make on main { writes m }
  fork side from prev make
  phase look on side { reads prev m  writes seen }
  join side into main
}
"""


def test_an_opaque_value_of_another_bucket_is_that_rounds_own(compiled) -> None:
    """What is read a round later is made once, at the largest, and not again for each bucket."""
    made = []

    def make(m):
        made.append(len(m))
        m.fill_(len(made))

    bodies = {"make": make, "look": lambda m, seen: seen.copy_(m)}
    seen = []
    with compiled(OPAQUE).bind(bodies, opaque={"m": lambda bs: torch.zeros(bs)}) as runner:
        for live in (1, 4, 1, 4, 4, 1):
            runner.step(bs=live)
            runner.drain()
            seen.append(runner.buffer("seen").tolist()[0])
    assert seen == [0, 1, 2, 3, 4, 5] and made == [4] * 6


EXCHANGED = """\
spec 1
pipeline p {
  dim n in [2, 4]
  group ep = 2
  stream main
  buffer x     : i64[n] carried
  buffer came  : i64[2 * n] pad 0
  buffer total : i64[1] carried
  phase grow on main { updates x }
  phase dispatch on main { reads x  writes came  collective all_to_all over ep capacity 4 }
  phase add on main across_rows { reads came  writes total }
}
"""


def test_an_exchange_fills_a_buffer_that_holds_the_pad(compiled) -> None:
    """As many rows as came are set; the others are not those of the round before."""

    def dispatch(x, came):
        came[: int(x[0])] = 7

    bodies = {
        "grow": lambda x: x.copy_((x + 3) % 4),
        "dispatch": dispatch,
        "add": lambda came, total: total.copy_(came.sum().view(1)),
    }
    seen = []
    with compiled(EXCHANGED).bind(bodies) as runner:
        for live in (4, 4, 2, 3, 1):
            runner.step(n=live)
            runner.drain()
            seen.append(int(runner.buffer("total")) // 7)
    assert seen == [3, 2, 1, 0, 3]


def test_rows_that_nobody_can_count_are_refused(compiled) -> None:
    """A size that is no multiple of a dim says nothing about the rows of fewer requests."""
    text = LOADED.replace("lens : i64[bs]", "lens : i64[max(bs, 3)]")
    with pytest.raises(
        BindError, match="test.spec:5: `lens` is padded, but how many of its rows are"
    ):
        compiled(text).bind({"admit": lambda lens: None, "longest": longest})


COPIES = """\
spec 1
pipeline p {
  dim n in [1, 2]
  stream main
  buffer x    : i64[2, n] carried copies 2 pad 0
  buffer seen : i64[n] carried
  buffer was  : i64[n] carried
  phase begin on main { writes x[0] }
  capture g on main rows n {
    phase look on main { reads x[0] as x  writes seen }
    phase grow on main { reads seen  writes x }
  }
  phase back on main { reads prev x[1] as x  writes was }
}
"""


@pytest.mark.parametrize("device", ["cpu", "adversary"])
def test_a_graph_writes_the_copy_of_its_round_of_what_it_takes_in_padded(device, compiled) -> None:
    """It has a graph for every copy, though what it reads of the buffer is a copy of its own."""
    rounds = iter(range(10, 100, 10))
    bodies = {
        "begin": lambda x: x.fill_(next(rounds)),
        "look": lambda x, seen: seen.copy_(x),
        "grow": lambda seen, x: x.copy_(seen + 1),
        "back": lambda x, was: was.copy_(x),
    }
    found = []
    with compiled(COPIES).bind(bodies, device=device) as runner:
        for live in (2, 2, 1, 2):
            runner.step(n=live)
            runner.drain()
            found.append(int(runner.buffer("was")[0]))
    assert found == [0, 11, 21, 31]


AGAIN = """\
spec 1
pipeline p {
  dim n in [1, 2]
  stream main
  buffer x     : i64[n] carried pad -1
  buffer seen  : i64[n] carried
  buffer after : i64[n] carried
  capture g on main rows n {
    phase look on main { reads x  writes seen }
    phase grow on main { reads seen  KIND x }
    phase again on main { reads x  writes after }
  }
}
"""


@pytest.mark.parametrize("kind", ["writes", "updates"])
def test_in_a_graph_what_was_written_above_is_read(kind: str, compiled) -> None:
    """Not the padded copy that the graph took in for who read it before."""
    bodies = {
        "look": lambda x, seen: seen.copy_(x),
        "grow": lambda seen, x: x.copy_(seen + 1),
        "again": lambda x, after: after.copy_(x),
    }
    with compiled(AGAIN.replace("KIND", kind)).bind(bodies) as runner:
        for round, live in enumerate((2, 2, 1, 1)):
            runner.step(n=live)
            runner.drain()
            assert (int(runner.buffer("seen")[0]), int(runner.buffer("after")[0])) == (
                round,
                round + 1,
            )


HALF = """\
spec 1
pipeline p {
  dim n in [1, 2]
  stream main
  buffer h    : i64[n] on host carried
  buffer x    : i64[n] carried pad 0
  buffer seen : i64[n] carried
  join prev look into host
  phase admit on host { writes h }
  capture g on main rows n {
    phase look on main { reads h, x  writes seen }
    phase grow on main { updates x }
  }
}
"""


def test_the_adversary_runs_a_graph_that_takes_in_more_than_its_schedule_says(compiled) -> None:
    """A copy that is padded, beside one that the schedule has copied in."""
    bodies = {
        "admit": lambda h: h.fill_(5),
        "look": lambda h, x, seen: seen.copy_(h + x),
        "grow": lambda x: x.add_(1),
    }
    with compiled(HALF).bind(bodies, device="adversary") as runner:
        for live in (2, 1, 2):
            runner.step(n=live)
        runner.drain()
        assert int(runner.buffer("seen")[0]) == 7


REBOUND = """\
spec 1
pipeline p {
  dim n in [2]
  stream main
  stream upd
  buffer x    : i64[n] carried pad -1
  buffer t    : i64[2] task
  buffer seen : i64[2] carried
  fork upd from main
  phase fill on upd across_rows { reads x  writes t }
  join upd into main
  phase grow on main { updates x }
  capture g on main rows n {
    join fill into main
    phase look on main { reads t  writes seen }
  }
}
"""


def test_what_fills_the_parameters_of_a_task_reads_what_is_padded(compiled) -> None:
    """A rebind gets its copies of this round, padded, as any phase does."""
    bodies = {
        "fill": lambda x, t: t.copy_(x),
        "grow": lambda x: x.add_(10),
        "look": lambda t, seen: seen.copy_(t),
    }
    found = []
    with compiled(REBOUND).bind(bodies) as runner:
        for live in (2, 2, 1):
            runner.step(n=live)
            runner.drain()
            found.append(runner.buffer("seen").tolist())
    assert found == [[0, 0], [10, 10], [20, -1]]


BROUGHT = """\
spec 1
pipeline p {{
  dim bs in [2, 4]
  group ep
  stream main
  buffer x : i64[bs] on host copies 2 pad 7
  buffer got : i64[bs] pad -1
  buffer all : i64[1] carried
  join prev send into host
  phase admit on host {{ writes x }}
  {open}
    phase send on main {{ collective low_latency over ep capacity 4 reads x  writes got }}
    phase sum on main across_rows {{ reads got  writes all }}
  {close}
}}
"""


@pytest.mark.parametrize(("open", "close"), [("", ""), (GRAPH, "}")])
def test_what_an_exchange_does_not_bring_is_padded_on_the_adversary_too(
    open: str, close: str, compiled
) -> None:
    """Its rows are filled before the exchange, and no poison comes after that."""
    bodies = {
        "admit": lambda x: x.fill_(5),
        "send": lambda x, got: got[:1].copy_(x[:1]),
        "sum": lambda got, all: all.copy_(got.sum(0, keepdim=True)),
    }
    schedule = compiled(BROUGHT.format(open=open, close=close))
    for device in (Cpu(), *map(Adversary, range(5))):
        seen = []
        with schedule.bind(bodies, device=device) as runner:
            for bs in (4, 1, 3):
                runner.step(bs=bs)
                runner.drain()
                seen.append(int(runner.buffer("all")))
        assert seen == [2, 4, 2]
