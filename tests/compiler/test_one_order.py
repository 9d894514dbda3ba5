"""Low-latency exchanges of a group keep one order where a target's hooks are hollow."""

from __future__ import annotations

from itertools import product

import pytest

from plait.compiler.compile import Asked, compile_source
from plait.dsl.span import Source
from plait.runtime.schedule import Bucket, Schedule
from tests.oracles.trace import Open, Record, Run, Wait, trace

IN_FLIGHT = """\
spec 1

pipeline p {
  group ep
  stream main
  buffer x : f32[4] carried
  buffer y : f32[4] carried
  buffer a : f32[4]
  buffer b : f32[4]
  launch one on main { reads x  writes a  collective low_latency over ep }
  launch two on main { reads y  writes b  collective low_latency over ep }
  await two on main
  phase plain on main { updates y  collective low_latency over ep }
  await one on main
  phase take on main { reads a, b  updates x }
}
"""

ROUTES = """\
spec 1

pipeline p {
  group ep
  guard busy over ep
  stream main
  stream other
  buffer x : f32[4] carried
  buffer y : f32[4] carried
  buffer a : f32[4]
  phase plain on main { updates x  collective low_latency over ep }
  join other into main
  when busy {
    launch one on main { reads y  writes a  collective low_latency over ep }
    await one on other
  } else {
    launch two on main { reads y  writes a  collective low_latency over ep }
    await two on other
  }
  phase take on other { reads a  updates y }
}
"""


def unordered(schedule: Schedule, buckets: list[Bucket]) -> set[tuple[str, str]]:
    """Exchanges of those rounds that neither is surely over when the other begins."""
    exchanges = {phase.name for phase in schedule.phases if phase.collective}
    over: dict[object, frozenset[int]] = {}
    records: dict[object, frozenset[int]] = {}
    met: list[tuple[str, frozenset[int]]] = []
    for step in trace(schedule, buckets):
        known = over.get(step.queue, frozenset()) if not isinstance(step, Open) else frozenset()
        if isinstance(step, Record):
            records[step.event] = known
        elif isinstance(step, Wait):
            over[step.queue] = known | records.get(step.event, frozenset())
        elif isinstance(step, Run) and step.name in exchanges:
            met.append((step.name, known))
            over[step.queue] = known | {len(met) - 1}
    return {
        (met[before][0], name)
        for number, (name, known) in enumerate(met)
        for before in range(number)
        if before not in known
    }


@pytest.mark.parametrize("text", [IN_FLIGHT, ROUTES], ids=["in flight", "routes"])
def test_any_two_of_a_group_are_ordered(text: str) -> None:
    """In the emitted program, across rounds and every switch between routes."""
    schedule = compile_source(Source("p.spec", text), Asked(target="ascend910c"))
    assert len(schedule.buckets) == 1 + ("guard" in text)
    for chosen in product(schedule.buckets, repeat=3):
        assert unordered(schedule, list(chosen)) == set()


def test_elsewhere_they_go_by_the_streams_that_launch_them() -> None:
    """The device keeps their order where hooks are real, and nothing is to be kept without a library."""
    schedule = compile_source(Source("p.spec", IN_FLIGHT), Asked())
    assert unordered(schedule, [schedule.buckets[0]] * 3) != set()
