"""The bill of a pipeline: which graphs there are, what they take, and what is cheapest to drop."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plait.compiler.budgets.asked import bill_asked
from plait.compiler.budgets.bill import Bill
from plait.compiler.budgets.bound import takes_at_most
from plait.compiler.budgets.drop import cheapest
from plait.compiler.budgets.limits import limited
from plait.compiler.budgets.over import exceeded
from plait.compiler.compile import Asked
from plait.compiler.target import TargetError, load_target
from plait.dsl.span import Source

NPU = "ascend910c"


def bill(text: str, **asked) -> Bill:
    return bill_asked(Source("test.spec", text), Asked(target=NPU, **asked))


def pipeline(lines: str) -> str:
    return f"spec 1\npipeline p {{\n  stream main\n  stream side\n{lines}\n}}\n"


def test_every_capture_is_billed_by_itself(eagle) -> None:
    """Draft, verify and draft extend stand apart, each with its own graphs (B57)."""
    found = bill_asked(eagle, Asked(target=NPU))
    assert [(row.name, row.graphs, row.streams) for row in found.rows] == [
        ("draft", 4, 4),
        ("verify", 4, 4),
        ("extend", 4, 4),
    ]
    assert all(row.each == ("bs",) for row in found.rows)
    assert (found.streams(), found.fixed, found.only("bs")) == (12, 0, {1: 3, 2: 3, 4: 3, 8: 3})


def test_a_graph_is_there_once_for_the_dims_it_uses() -> None:
    """A capture that has nothing of a dim is one graph in all its buckets: a fixed cost (B54)."""
    found = bill(
        pipeline("""\
  dim bs in [1, 2, 4]
  dim n in [8, 16]
  buffer a : i64[bs] carried
  buffer b : i64[4] carried
  buffer c : i64[bs, n] carried
  capture of_bs on main rows bs { phase one on main { updates a } }
  capture of_none on main rows 4 { phase two on main { updates b } }
  capture of_both on main rows bs { phase three on main { updates c } }""")
    )
    assert [(row.name, row.each, row.graphs) for row in found.rows] == [
        ("of_bs", ("bs",), 3),
        ("of_none", (), 1),
        ("of_both", ("bs", "n"), 6),
    ]
    assert (found.streams(), found.fixed, found.smallest) == (10, 1, 3)
    assert found.only("n") == {8: 3, 16: 3}


def test_a_stream_and_a_communicator_cost_one_each() -> None:
    """The graph's own stream, what it forks, and every group that its collectives are over."""
    found = bill(
        pipeline("""\
  group tp = 4
  group ep = 8
  buffer a : bf16[4, 8] carried
  buffer b : bf16[4, 8]
  buffer c : bf16[4, 8]
  capture g on main rows 4 {
    fork side from main
    phase left on side { reads a  writes b  collective all_reduce over tp }
    phase right on main { reads a  writes c  collective all_to_all over ep }
    join side into main
    phase back on main { reads b, c  writes a  collective all_reduce over tp }
  }""")
    )
    (row,) = found.rows
    assert (row.side, row.communicators, row.streams) == (("side",), ("tp", "ep"), 4)


def test_copies_that_a_graph_holds_need_a_graph_each() -> None:
    """A static buffer with copies takes turns by address; one that is copied in does not."""
    found = bill(
        pipeline("""\
  buffer a : i64[4] static copies 2
  buffer b : i64[4] static copies 3
  buffer taken : i64[4] copies 5
  phase make on main { writes a, b, taken }
  capture g on main rows 4 { phase use_all on main { reads taken  updates a, b } }""")
    )
    assert [(row.graphs, row.instances) for row in found.rows] == [(6, 6)]


def test_a_loop_of_captures_is_one_line_of_the_bill() -> None:
    """Unrolled copies are graphs of their own, named once."""
    found = bill(
        pipeline("""\
  buffer a : i64[4] carried
  for i in 0 .. 9 { capture g[i] on main rows 4 { phase one[i] on main { updates a } } }""")
    )
    assert [(row.name, row.captures, row.graphs) for row in found.rows] == [("g", 10, 10)]


def test_graphs_of_a_pool_share_what_they_make() -> None:
    """What is copied in adds up; of a pool the largest graph counts, whichever capture it is of (B116)."""
    found = bill(
        pipeline("""\
  dim bs in [1, 2]
  pool shared
  buffer a : f32[bs, 256]
  buffer b : f32[bs, 256]
  buffer c : f32[bs, 1024]
  buffer d : opaque
  phase make on main { writes a }
  capture g on main rows bs in shared { phase one on main { reads a  writes b, d } }
  capture h on main rows bs in shared { phase two on main { reads a  writes c } }
  phase look on main { reads c }""")
    )
    assert found.inputs == 2 * (1024 + 2048)
    assert found.pools == {"shared": 8192}
    assert (found.memory, found.opaque) == (6144 + 8192, ("d",))


def test_the_examples_never_exceed_what_is_seen_at_once(root: Path) -> None:
    """The quick bound that spares the look into graphs is one."""
    for path in sorted((root / "examples").glob("*.spec")):
        found = bill_asked(Source(path.name, path.read_text(), path.parent), Asked(target=NPU))
        assert found.streams() <= takes_at_most(found.rounds, found.target.graphs), path.name


MANY = """\
  dim bs in [1, 2]
  buffer a : i64[4] carried
  buffer b : i64[4]
  for i in 0 .. 899 {
    capture g[i] on main rows 4 {
      fork side from main
      phase one[i] on side { updates a }
      join side into main
    }
  }"""


def test_it_says_when_dropping_buckets_cannot_help(findings) -> None:
    """The fixed term alone is over the budget (B54): what would help is said instead."""
    (found,) = findings(pipeline(MANY), target=NPU)
    assert found.code == "PL802"
    assert dict(found.facts)["fixed"] == "1,800 in graphs that all buckets share"
    assert found.help == (
        "dropping buckets cannot help: the largest alone takes 1,800; capture less, or more of it in "
        "one graph; with the work of `side` on the graphs' own streams they take 900 fewer"
    )


def test_it_says_when_one_dim_is_not_enough(findings) -> None:
    """Each dim with its largest bucket alone would fit, and no shorter list of one of them does."""
    text = pipeline("""\
  dim bs in [1, 2]
  dim n in [1, 2]
  buffer a : i64[bs, n] carried
  capture g on main rows bs { phase one on main { updates a } }""")
    (found,) = findings(text, target=NPU, limits=("streams=35",))
    assert found.help == (
        "list fewer buckets of `bs` and `n`; `plait buckets` chooses them: the largest alone take 1"
    )


def test_a_share_is_of_a_target_of_ones_own(eagle, findings, tmp_path: Path) -> None:
    """A container's part of the device is a number of its target, as `--limit` gives it (B55)."""
    path = tmp_path / "share.toml"
    path.write_text(f'name = "share"\nextends = "{NPU}"\ntitle = "a part"\n[streams]\nquota = 40\n')
    by_file = findings(eagle, target=str(path))
    by_word = findings(eagle, target=NPU, limits=("streams=40",))
    assert [one.code for one in by_file] == [one.code for one in by_word] == ["PL805"]
    assert findings(eagle, target=NPU, limits=("streams=46",)) == []


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ("stream=4", "--limit stream=4: write it as streams=400; did you mean `streams`?"),
        ("streams", "--limit streams: write it as streams=400"),
        ("streams=-1", "--limit streams=-1: write it as streams=400"),
        ("tasks=many", "--limit tasks=many: write it as tasks=64"),
        ("memory=12", "--limit memory=12: write it as memory=2GiB"),
        ("memory=12KiB", "--limit memory=12KiB: write it as memory=2GiB"),
    ],
)
def test_a_limit_is_a_name_and_a_number(said: str, message: str) -> None:
    """Anything else is one clear error."""
    with pytest.raises(TargetError) as error:
        limited(load_target("cpu"), [said])
    assert str(error.value) == message


def test_limits_take_the_place_of_the_targets() -> None:
    """Streams are a share; tasks and memory are what they are."""
    target = limited(load_target(NPU), ["streams=400", "tasks=64", "memory=2GiB"])
    assert (target.streams.quota, target.graphs.tasks) == (400, 64)
    assert target.graphs.memory_mib == 2048
    assert target.streams.budget == load_target(NPU).streams.budget


@given(st.sets(st.integers(1, 30), min_size=2, max_size=7), st.integers(1, 9))
def test_the_cheapest_drop_is_the_cheapest(chosen: set[int], room: int) -> None:
    """Of all sets of buckets that may go, none that leaves room pads fewer rows more."""
    sizes = sorted(chosen)
    text = pipeline(f"""\
  dim bs in {sizes}
  buffer a : i64[bs] carried
  capture g on main rows bs {{ phase one on main {{ updates a }} }}
  capture h on main rows bs {{ phase two on main {{ updates a }} }}""")
    found = bill(text, limits=(f"streams={34 + room}",))
    drop = cheapest(found, room)
    kept = [
        [*some, sizes[-1]]
        for count in range(len(sizes) - 1)
        for some in combinations(sizes[:-1], count)
        if 2 * (count + 1) <= room
    ]
    if not kept:
        assert drop is None and (room >= 2 * len(sizes) or exceeded(found))
        return
    assert drop is not None
    rows = [_rows(list_) - _rows(sizes) for list_ in kept]
    assert drop.rows == min(rows)
    assert drop.streams == 2 * (len(sizes) - len(drop.sizes)) <= room


def _rows(sizes: list[int]) -> int:
    """Padded over a round of every size."""
    return sum(next(b for b in sizes if b >= live) - live for live in range(1, sizes[-1] + 1))
