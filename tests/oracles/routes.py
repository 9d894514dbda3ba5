"""Whether some sequence of a schedule's routes has another result than its text."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from random import Random

from oracles.interleavings import Machine
from oracles.sanitizer import verdict
from oracles.trace import Step, rounds_of, trace
from plait.compiler.lower import lower
from plait.compiler.order import Order
from plait.runtime.schedule import Bucket, Digest, Schedule

MOST_STEPS = 30_000
"""Over all sequences of routes; beyond it, only those in which one route follows another once."""
SMALL = 150
"""Steps of a sequence that is run in every interleaving; the sanitizer judges the others."""


def lowered(orders: list[Order]) -> Schedule:
    """Of orders that may be wrong; sizes and names must be right."""
    digest = Digest("test.spec", "0" * 64)
    return lower(
        orders,
        variant=None,
        compiler="test",
        sources=[],
        digests=[digest],
        target=digest,
        environment={},
    )


def broken(orders: list[Order], random: Random) -> bool:
    schedule = lowered(orders)
    return any(_broken(trace(schedule, one), random) for one in sequences(schedule))


def _broken(steps: list[Step], random: Random) -> bool:
    if len(steps) <= SMALL:
        machine = Machine(steps)
        found = machine.search(random)
        if found.different is not None:
            return machine.different(found.different)
        if found.every:
            return False
    return bool(verdict(steps))


def different_routes(schedule: Schedule) -> list[Bucket]:
    """Those that differ in what they run or in the memory they touch."""
    return list({(one.program, one.regions): one for one in schedule.buckets}.values())


def sequences(schedule: Schedule) -> Iterator[tuple[Bucket, ...]]:
    """Of rounds, as many as it takes to see a race."""
    routes = different_routes(schedule)
    length = rounds_of(schedule)
    steps = max(len(program) for program in schedule.programs)
    if len(routes) ** length * length * steps <= MOST_STEPS:
        yield from product(routes, repeat=length)
        return
    for first, second in product(routes, repeat=2):
        for at in range(1, length):
            yield (first,) * at + (second,) * (length - at)
