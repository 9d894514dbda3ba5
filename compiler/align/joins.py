"""Joins: where branches meet, who came last, how long the others waited, and how long it then took."""

from __future__ import annotations

from plait.compiler.align.aligned import Aligned
from plait.compiler.align.declared import Order
from plait.compiler.align.instances import Instance
from plait.dsl.record import Record


class Met(Record):
    """A join in one round."""

    round: int
    last: int | None
    """The node that came last, and by which its consumer was held up; None: the trace does not say."""
    waits: tuple[tuple[int, int], ...]
    """Of the other branches that are known, how long before."""
    latency: int | None
    """From the last arrival to the consumer's start."""
    seen: bool
    """Whether a wait stands in the trace right before the consumer."""


class Join(Record):
    target: int
    sources: tuple[Order, ...]
    met: tuple[Met, ...]


def joins(made: Aligned) -> list[Join]:
    """Of every node that waits for an event beside what its own stream did before."""
    waits = _waits(made)
    found = []
    for target in range(len(made.declared.nodes)):
        orders = [
            one
            for one in made.declared.before(target)
            if made.seen.expected(one.source) and one.kind != "issue"
        ]
        streams = {made.declared.nodes[one.source].stream for one in orders}
        if len(streams) < 2:
            continue
        met = []
        for round in made.rounds:
            consumer = made.seen.get(target, round)
            if consumer is not None and (one := _met(made, orders, consumer, waits)):
                met.append(one)
        if met:
            found.append(Join(target, tuple(orders), tuple(met)))
    return found


def _met(
    made: Aligned, orders: list[Order], consumer: Instance, waits: dict[int, list[int]]
) -> Met | None:
    round = consumer.round
    if any(round - order.rounds_back not in made.ends for order in orders):
        return None
    last, _ = latest(made, orders, round)
    arrivals = {
        order.source: one.end
        for order in orders
        if (one := made.seen.get(order.source, round - order.rounds_back)) and one.ends
    }
    others: list[tuple[int, int]] = []
    latency = None
    if last is not None:
        arrival = arrivals[last.node]
        others = [
            (source, arrival - end) for source, end in arrivals.items() if source != last.node
        ]
        latency = max(consumer.start - arrival, 0) if consumer.begins else None
    seen = any(
        consumer.start - made.tolerance <= end <= consumer.start for end in _near(waits, consumer)
    )
    return Met(round, None if last is None else last.node, tuple(others), latency, seen)


def latest(made: Aligned, orders: list[Order], round: int) -> tuple[Instance | None, bool]:
    """Of what a node comes after, the last to end, and whether it may have been another."""
    best: Instance | None = None
    unsure = 0
    for order in orders:
        back = round - order.rounds_back
        one = made.seen.get(order.source, back)
        if one is not None and one.ends and (best is None or one.end > best.end):
            best = one
        if one is None or not one.ends:
            unsure = max(unsure, made.seen.latest(order.source, back))
    if best is None or unsure > best.end:
        return None, True
    return best, False


def _waits(made: Aligned) -> dict[int, list[int]]:
    """Of every lane when its waits ended."""
    found: dict[int, list[int]] = {}
    for one in made.trace.slices:
        if one.kind == "wait":
            found.setdefault(one.lane, []).append(one.end)
    for join in made.trace.joins:
        if join.until >= 0:
            found.setdefault(join.waiter, []).append(join.until)
    for ends in found.values():
        ends.sort()
    return found


def _near(waits: dict[int, list[int]], consumer: Instance) -> list[int]:
    from bisect import bisect_right

    ends = waits.get(consumer.lane, [])
    place = bisect_right(ends, consumer.start)
    return ends[max(place - 1, 0) : place]
