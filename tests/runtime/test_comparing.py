"""Graphs held against their phases: the first that differs is named, with both values."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from plait.runtime.bind import bind
from plait.runtime.comparing import Comparing, Difference
from plait.runtime.devices.cpu import Cpu

SPEC = """\
spec 1
pipeline p {
  dim n in [2, 4]
  stream main
  stream side
  buffer x : f32[n, 2] carried
  buffer y : f32[n, 2]
  buffer m : opaque carried static
  capture g on main rows n {
    phase grow on main { updates x }
    fork side from main
    phase square on side { reads x as given  writes y }
    join side into main
    phase add on main { reads y  updates x, m }
  }
}
"""


def grow(x):
    x.add_(1)


def square(given, y):
    y.copy_(given * given)


def add(x, y, m):
    x.add_(y).mul_(0.25)
    m["sum"].add_(x.sum())


BODIES = {"grow": grow, "square": square, "add": add}


def compared(compiled, bodies: dict, exact: bool = True, rounds: int = 6) -> Comparing:
    device: Any = Comparing(Cpu(), exact)
    opaque = {"m": {"sum": torch.zeros(())}}
    with bind(compiled(SPEC), bodies, opaque=opaque, device=device) as runner:
        for round in range(rounds):
            runner.step(n=1 + round % 4)
        runner.drain()
    return device


def test_graphs_that_are_as_their_phases_show_nothing(compiled) -> None:
    """Every replay of every bucket is compared, and the values are those of a plain run."""
    found = compared(compiled, BODIES)
    assert (found.replays, found.differing, found.first) == (6, 0, None)
    with compiled(SPEC).bind(BODIES, opaque={"m": {"sum": torch.zeros(())}}) as runner:
        for round in range(6):
            runner.step(n=1 + round % 4)
        runner.drain()
        expected = runner.buffer("x").clone()
    device: Any = Comparing(Cpu())
    opaque = {"m": {"sum": torch.zeros(())}}
    with bind(compiled(SPEC), BODIES, opaque=opaque, device=device) as runner:
        for round in range(6):
            runner.step(n=1 + round % 4)
        runner.drain()
        assert torch.equal(runner.buffer("x"), expected)


def test_what_a_graph_froze_is_named(compiled) -> None:
    """A body that goes by a number of Python's: its graph keeps that of the capture."""
    seen = [0]

    def counting(given, y):
        seen[0] += 1
        square(given, y)
        y[1, 0] = seen[0] > 4

    found = compared(compiled, BODIES | {"square": counting})
    assert found.first == Difference(
        "g", "square", "test.spec:12", True, "y", (1, 0), 4, graph=0.0, eager=1.0
    )
    assert str(found.first) == (
        "test.spec:12: `square` of `g`, round 4: its graph left 0 in y[1, 0], its body 1"
    )
    assert found.report()["differing"] == found.differing > 0


def test_memory_that_only_the_whole_graph_spoils_is_named_too(compiled) -> None:
    """Graphs of single phases that agree do not hide that the graph of all leaves something else."""

    class Spoiling(Cpu):
        def capture(self, name, place, steps, written, pool=None):
            graph = super().capture(name, place, steps, written, pool)
            if len(steps) > 1:
                launch = graph.job.func
                spoilt = written[0]
                graph.job = type(graph.job)(lambda: (launch(), spoilt[1, 1].add_(8)))
                graph.job.name, graph.job.place = name, place
            return graph

    device: Any = Comparing(Spoiling())
    opaque = {"m": {"sum": torch.zeros(())}}
    with bind(compiled(SPEC), BODIES, opaque=opaque, device=device) as runner:
        runner.step(n=2)
    assert device.first == Difference(
        "g", "add", "test.spec:14", False, "x", (1, 1), 0, graph=8.5, eager=0.5
    )


@pytest.mark.parametrize(("exact", "differing"), [(True, True), (False, False)])
def test_bits_need_not_be_equal_where_that_is_not_asked(
    exact: bool, differing: bool, compiled
) -> None:
    """The last bit of a float is a difference in the exact mode alone."""
    seen = [0]

    def shaky(x, y, m):
        seen[0] += 1
        x.add_(y).mul_(0.25 if seen[0] < 5 else 0.25000003)
        m["sum"].add_(x.sum())

    assert bool(compared(compiled, BODIES | {"add": shaky}, exact).differing) == differing
