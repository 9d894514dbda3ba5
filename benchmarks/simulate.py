"""Simulation: what streams are given, against as many pushes and pops of a heap, and ten times as much.

A phase, a record and a wait are an operation each; what the host takes to issue them comes on top.
"""

from __future__ import annotations

from collections.abc import Iterator
from heapq import heappop, heappush
from random import Random

from plait.bench.paired import Pair, paired, spent
from plait.compiler.timing.engine import Engine, Issue, Record, Wait, Work

STREAMS = 6
HELD = 64
"""Of the heap beside it: about as many as a simulation holds."""


def instructions(operations: int, shared: bool) -> list[Issue]:
    """Streams that hand a value on, each to the next; half of them share two resources, in a dozen ways."""
    random = Random(operations)
    kinds = [((number % 2, random.randint(300, 900)),) for number in range(12)]
    found = []
    for number in range(operations):
        stream = number % STREAMS
        uses = random.choice(kinds) if shared and number % 2 else ()
        items = [Work(stream, random.randint(500, 5_000), uses, number), Record(stream, (number,))]
        if number:
            items.insert(0, Wait(stream, (number - random.randint(1, min(number, STREAMS)),)))
        found.append(Issue(300, number, tuple(items)))
    return found


def simulated(given: list[Issue]) -> None:
    Engine(STREAMS, [(0, given)]).run()


def heaped(steps: list[int]) -> None:
    heap: list[tuple[int, int]] = [(number, number) for number in range(HELD)]
    for number, more in enumerate(steps):
        now, _ = heappop(heap)
        heappush(heap, (now + more, number))


def run(turns: int = 5) -> Iterator[Pair]:
    count = 50_000
    random = Random(0)
    steps = [random.randint(500, 5_000) for _ in range(3 * count - 1)]
    for how, shared in (("on their own", False), ("half of them shared", True)):
        given = instructions(count, shared)
        yield paired(
            f"simulating {len(steps):,} operations, a third of them phases, {how} / as many pushes and pops",
            lambda given=given: spent(lambda: simulated(given)),
            lambda: spent(lambda: heaped(steps)),
            turns,
            most=25,
        )
    few, many = instructions(10_000, True), instructions(100_000, True)
    yield paired(
        "simulating 300,000 operations / 30,000",
        lambda: spent(lambda: simulated(many)),
        lambda: spent(lambda: simulated(few)),
        turns,
        most=13,
    )
