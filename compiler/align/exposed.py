"""Communication that is exposed, three ways that do not mean the same.

Beside independent work: what no work covers that has no order with it. Device-wide: what no work at all
covers, as profilers count it. On the path: what of it stands on the critical path.
"""

from __future__ import annotations

from plait.compiler.align.aligned import Aligned
from plait.compiler.align.gates import Segment
from plait.compiler.intervals import Interval, shared, together, total
from plait.dsl.record import Record

REACH = 1
"""Rounds before and after one in which what runs beside it is looked for."""


class Exposed(Record):
    """Of a node that communicates, in nanoseconds of one round each."""

    node: int
    total: tuple[int, ...]
    covered: tuple[int, ...]
    """By independent work."""
    device_wide: tuple[int, ...]
    """Exposed so."""
    on_path: tuple[int, ...]

    @property
    def exposed(self) -> tuple[int, ...]:
        return tuple(a - b for a, b in zip(self.total, self.covered, strict=True))


def exposed(made: Aligned, paths: dict[int, list[Segment]]) -> list[Exposed]:
    nodes = [n for n, node in enumerate(made.declared.nodes) if node.collective]
    if not nodes:
        return []
    independent = _independent(made)
    busy = together(
        (piece.start, piece.end)
        for number, piece in enumerate(made.pieces)
        if not _communicates(made, number)
    )
    found = []
    for node in nodes:
        rows = []
        for round in made.measured:
            one = made.seen.get(node, round)
            if one is None:
                continue
            own = _spans(made, node, round)
            beside = together(
                span
                for other, apart in sorted(independent[node])
                if not made.declared.nodes[other].collective
                for span in _spans(made, other, round + apart)
            )
            on_path = sum(
                part.end - part.start
                for part in paths.get(round, ())
                if part.node == node and part.kind in ("busy", "bubble")
            )
            rows.append(
                (
                    total(own),
                    shared(own, beside),
                    total(own) - shared(own, _near(busy, own)),
                    on_path,
                )
            )
        if rows:
            found.append(Exposed(node, *zip(*rows, strict=True)))
    return found


def _near(busy: list[Interval], own: list[Interval]) -> list[Interval]:
    from bisect import bisect_left

    first = max(bisect_left(busy, (own[0][0], 0)) - 1, 0) if own else 0
    last = bisect_left(busy, (own[-1][1], 0)) + 1 if own else 0
    return busy[first:last]


def _spans(made: Aligned, node: int, round: int) -> list[Interval]:
    one = made.seen.get(node, round)
    if one is None:
        return []
    return together((made.pieces[n].start, made.pieces[n].end) for n in one.pieces)


def _communicates(made: Aligned, number: int) -> bool:
    """As its node is declared; what is of no node, as the trace has it."""
    node = made.found.nodes[number]
    if node >= 0:
        return made.declared.nodes[node].collective
    return made.trace.slices[made.pieces[number].slice].kind == "communication"


def _independent(made: Aligned) -> dict[int, set[tuple[int, int]]]:
    """Of every node those, with how many rounds later, that have no order with it."""
    count = len(made.declared.nodes)
    middle = REACH
    rounds = 2 * REACH + 1
    later: dict[tuple[int, int], set[tuple[int, int]]] = {
        (node, round): set() for node in range(count) for round in range(rounds)
    }
    for order in made.declared.orders:
        for round in range(order.rounds_back, rounds):
            later[order.source, round - order.rounds_back].add((order.target, round))
    found = {}
    for node in range(count):
        if not made.declared.nodes[node].collective:
            continue
        after = _reached((node, middle), later)
        free = set()
        for other in later:
            apart = other != (node, middle) and other not in after
            if apart and (node, middle) not in _reached(other, later):
                free.add((other[0], other[1] - middle))
        found[node] = free
    return found


def _reached(
    start: tuple[int, int], later: dict[tuple[int, int], set[tuple[int, int]]]
) -> set[tuple[int, int]]:
    found: set[tuple[int, int]] = set()
    stack = [start]
    while stack:
        for one in later[stack.pop()] - found:
            found.add(one)
            stack.append(one)
    return found
