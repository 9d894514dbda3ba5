"""Parameters of captured tasks: each replay reads those of its own round, and none is written too early."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest
import torch

from plait.runtime.devices.cpu import Cpu
from plait.runtime.devices.job import job

AHEAD = """\
spec 1
pipeline p {
  dim n in [2, 4]
  stream main
  stream update
  buffer x    : i64[4] carried
  buffer seen : i64[64] carried
  buffer at   : i64[1] carried
  buffer t    : i64[1] task
  capture g on main rows n {
    phase grow on main { updates x }
    join set_t into main
    phase look on main { reads t  updates at, seen }
  }
  fork update from prev g
  phase set_t on update { writes t }
}
"""
BEFORE = """\
spec 1
pipeline p {
  dim n in [2, 4]
  stream main
  stream update
  buffer x    : i64[4] carried
  buffer seen : i64[64] carried
  buffer at   : i64[1] carried
  buffer t    : i64[1] task
  fork update from prev g
  phase set_t on update { writes t }
  join update into main
  capture g on main rows n {
    phase grow on main { updates x }
    phase look on main { reads t  updates at, seen }
  }
}
"""
ROUNDS = 60
LIVE = [1 + (r * 7 % 4) for r in range(ROUNDS)]


class Late(Cpu):
    """Every replay begins a millisecond late."""

    def capture(self, name, place, steps, written, pool=None):
        graph = super().capture(name, place, steps, written, pool)
        launch = graph.job
        graph.job = job(name, place, lambda: (time.sleep(0.001), launch()))
        return graph


def look(t, at, seen):
    seen.scatter_(0, at, t)
    at.add_(1)


@pytest.mark.parametrize(
    ("text", "target"), [(AHEAD, "ascend910c"), (BEFORE, "ascend910c"), (BEFORE, "cpu")]
)
@pytest.mark.parametrize("slow", ["grow", "set_t", "neither"])
def test_each_replay_reads_the_parameters_of_its_round(
    text: str, target: str, slow: str, compiled
) -> None:
    """Whichever side is slow, round r sees what its own rebind wrote, in every bucket."""
    written = []

    def set_t(t):
        if slow == "set_t" and len(written) % 5 == 0:
            time.sleep(0.002)
        written.append(len(written))
        t.fill_(written[-1] * 11)

    bodies = {"grow": lambda x: x.add_(1), "set_t": set_t, "look": look}
    device = Late() if slow == "grow" else Cpu()
    with compiled(text, target=target).bind(bodies, device=device, prepare=True) as runner:
        for live in LIVE:
            runner.step(n=live)
        runner.drain()
        assert runner.buffer("seen")[:ROUNDS].tolist() == [r * 11 for r in range(ROUNDS)]
        assert runner.buffer("x").tolist() == [ROUNDS] * 4


def test_a_phase_that_fails_ahead_of_a_graph_fails_the_graph(compiled) -> None:
    """A graph that waits from inside for a rebind that raised ends with its error, and nothing hangs."""

    def set_t(t):
        raise ValueError("no parameters today")

    bodies = {"grow": lambda x: x.add_(1), "set_t": set_t, "look": look}
    with compiled(AHEAD, target="ascend910c").bind(bodies) as runner:
        with pytest.raises(Exception, match=r"test.spec:16: `set_t` failed on update in round 0"):
            runner.step(n=1)
            runner.drain()
        assert torch.equal(runner.buffer("seen"), torch.zeros(64, dtype=torch.int64))


def test_without_its_edge_a_rebind_would_come_too_early(compiled) -> None:
    """The first test can tell: a rebind that does not wait for the replay before is seen by it."""
    schedule = compiled(BEFORE)
    first = schedule.programs[0]
    loose = tuple(one for one in first if (one.op, one.on) != ("wait", 2))
    assert len(loose) == len(first) - 1
    schedule = replace(schedule, programs=(loose, *schedule.programs[1:]))
    written = []

    def set_t(t):
        written.append(len(written))
        t.fill_(written[-1])

    bodies = {"grow": lambda x: x.add_(1), "set_t": set_t, "look": look}
    with schedule.bind(bodies, device=Late()) as runner:
        for _ in range(ROUNDS):
            runner.step(n=1)
        runner.drain()
        assert runner.buffer("seen")[:ROUNDS].tolist() != list(range(ROUNDS))
