"""Orders held against the trace: whether what waits began after what it waits for had ended."""

from __future__ import annotations

from plait.compiler.align.aligned import Aligned
from plait.compiler.align.declared import Order
from plait.dsl.record import Record


class Edge(Record):
    order: Order
    rounds: int
    """In which both ends are known."""
    broken: tuple[tuple[int, int], ...]
    """Rounds in which it was not kept, each with the nanoseconds by which the target was early."""


def edges(made: Aligned) -> list[Edge]:
    found = []
    for order in made.declared.orders:
        rounds, broken = 0, []
        for round in made.rounds:
            source = made.seen.get(order.source, round - order.rounds_back)
            target = made.seen.get(order.target, round)
            if source is None or target is None:
                continue
            rounds += 1
            early = source.end - target.start  # the known parts of both: never more than the truth
            if early > made.tolerance:
                broken.append((round, early))
        if rounds:
            found.append(Edge(order, rounds, tuple(broken)))
    return found
