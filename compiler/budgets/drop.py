"""What is cheapest to drop so that the graphs of a pipeline take no more streams than there are."""

from __future__ import annotations

from collections import Counter

from plait.compiler.buckets.fewest import even_padding, fewest, padded
from plait.compiler.budgets.bill import Bill
from plait.dsl.record import Record

MOST_SIZES = 256
"""Buckets of a dim among which the best to drop are looked for."""


class Drop(Record):
    """Buckets of a dim to leave out."""

    dim: str
    sizes: tuple[int, ...]
    streams: int
    """That the graphs then take."""
    rows: int
    """Padded more than now, over a round of every size."""


def cheapest(bill: Bill, room: int) -> Drop | None:
    """The buckets of one dim whose loss pads fewest rows more and leaves the graphs in that room."""
    found = [drop for dim in bill.sizes if (drop := _of_dim(bill, dim, room))]
    return min(found, key=lambda drop: drop.rows, default=None)


def _of_dim(bill: Bill, dim: str, room: int) -> Drop | None:
    sizes = bill.sizes[dim]
    if len(sizes) > MOST_SIZES:
        return None
    padding = even_padding(sizes)
    for rows, places in reversed(list(fewest(len(sizes), len(sizes) - 1, padding))):
        kept = {sizes[place] for place in places}
        streams = bill.streams(lambda round, kept=kept: round.sizes[dim] in kept)
        if streams <= room:
            gone = tuple(size for size in sizes if size not in kept)
            return Drop(dim, gone, streams, rows - padded(sizes, padding))
    return None


def dearest_stream(bill: Bill) -> tuple[str, int] | None:
    """The side stream whose work on its graph's own stream would free most streams, and how many."""
    cost: Counter[str] = Counter()
    for graph in bill.graphs:
        for stream in graph.side:
            cost[stream] += graph.instances * bill.target.graphs.streams_a_side
    return max(cost.items(), key=lambda one: one[1]) if cost else None
