"""A capture that fails: its bucket is served without, and what that was and cost is said."""

from __future__ import annotations

import logging
import weakref

import pytest
import torch

from plait.runtime.devices.cpu import Cpu
from plait.runtime.devices.refusals import CaptureError

SPEC = """\
spec 1
pipeline p {
  dim n in [2, 4]
  stream main
  stream side
  buffer x : i64[n] carried
  buffer y : i64[n]
  capture g on main rows n {
    phase grow on main { updates x }
    fork side from main
    phase square on side { reads x  writes y }
    join side into main
    phase add on main { reads y  updates x }
  }
  capture h on main rows n {
    phase halve on main { updates x }
  }
}
"""


def grow(x):
    x.add_(1)


def square(x, y):
    y.copy_(x * x)


def add(x, y):
    x.add_(y)


def halve(x):
    x.floor_divide_(2)


BODIES = {"grow": grow, "square": square, "add": add, "halve": halve}
ROUNDS = (3, 1, 4, 2, 2, 3)


def left_by(runner) -> list[int]:
    for live in ROUNDS:
        runner.step(n=live)
    runner.drain()
    return runner.buffer("x").tolist()


def peeking(x, y):
    if x.shape[0] == 4:
        x.sum().item()
    square(x, y)


def test_phases_run_one_by_one_where_their_graph_is_lost(compiled, caplog) -> None:
    """The bucket of 4 loses `g` and keeps `h`, that of 2 keeps both; the values are the same."""
    with compiled(SPEC).bind(BODIES) as runner:
        expected = left_by(runner)
    with (
        caplog.at_level(logging.WARNING, "plait"),
        compiled(SPEC).bind(BODIES | {"square": peeking}) as runner,
    ):
        assert left_by(runner) == expected
        small, large = runner.counts()
    why = (
        "test.spec:11: `square` failed while it was captured in `g`: CaptureError: "
        "aten._local_scalar_dense.default gives a value to Python; a graph cannot wait for it"
    )
    lost = {"capture": "g", "place": "test.spec:8", "why": why, "phases": 3, "rounds": 3}
    assert (small["lost"], large["lost"]) == ([], [lost])
    assert [small["graphs"][name]["replays"] for name in "gh"] == [3, 3]
    assert [large["graphs"][name]["replays"] for name in "gh"] == [0, 3]
    assert [record.getMessage() for record in caplog.records] == [
        "test.spec:8: `g` is no graph at n = 4, so every round there issues its phases one by one, 3 of "
        f"them: {why}"
    ]


def test_strictly_a_lost_graph_is_an_error(compiled) -> None:
    """Who would rather not serve than serve slowly is told at once."""
    bodies = BODIES | {"square": peeking}
    with pytest.raises(CaptureError, match="`square` failed while it was captured in `g`"):
        compiled(SPEC).bind(bodies, strict=True, prepare=True)


def test_memory_that_runs_out_in_a_capture_is_one_reason_more(compiled) -> None:
    """What a failed capture had allocated is freed before its phases run, and rounds go on."""
    held: list[weakref.ref] = []

    def hungry(x):
        block = torch.zeros(1 << 16)
        held.append(weakref.ref(block))
        if len(held) == 1:
            torch.empty(1 << 60)
        grow(x)

    with compiled(SPEC).bind(BODIES | {"grow": hungry}, prepare=True) as runner:
        assert held[0]() is None
        runner.step(n=4)
        runner.drain()
        assert runner.buffer("x").tolist() == [1, 1, 1, 1]
        (lost,) = runner.counts()[1]["lost"]
    assert "failed while it was captured in `g`: RuntimeError: " in lost["why"]
    assert "memory" in lost["why"] and lost["rounds"] == 1


def test_a_device_that_cannot_go_on_capturing_is_one_reason_more(compiled) -> None:
    """Whatever a device raises, not only what Plait's own capture refuses, loses that graph alone."""

    class Full(Cpu):
        def capture(self, name, place, steps, written, pool=None):
            if name == "h":
                raise OSError("no streams left")
            return super().capture(name, place, steps, written, pool)

    with compiled(SPEC).bind(BODIES) as runner:
        expected = left_by(runner)
    with compiled(SPEC).bind(BODIES, device=Full()) as runner:
        assert left_by(runner) == expected
        found = [(one["capture"], one["why"]) for e in runner.counts() for one in e["lost"]]
    assert found == [("h", "OSError: no streams left")] * 2


def test_a_graph_that_waits_from_inside_is_not_made_up_for(compiled) -> None:
    """What it waits for may be issued below it, so its steps cannot stand for it: that stays an error."""
    schedule = compiled(
        """\
spec 1
pipeline p {
  stream main
  stream update
  buffer x : i64[4] carried
  buffer t : i64[4] task
  capture g on main rows 4 {
    phase grow on main { updates x }
    join bind_t into main
    phase take on main { reads t  updates x }
  }
  fork update from prev g
  phase bind_t on update { writes t }
}
""",
        target="ascend910c",
    )
    bodies = {
        "grow": lambda x: x.sum().item(),
        "take": lambda t, x: x.add_(t),
        "bind_t": lambda t: t.add_(1),
    }
    with (
        schedule.bind(bodies) as runner,
        pytest.raises(CaptureError, match="`g` is no graph, and its phases cannot be issued one"),
    ):
        runner.step()
