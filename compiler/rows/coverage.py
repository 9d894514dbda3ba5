"""What runs as a graph in each bucket and what does not, in requests and in rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from plait.compiler.order import Order
from plait.compiler.round import HOST, Round
from plait.compiler.views.steps import few
from plait.dsl.values import plain, written


@dataclass(frozen=True)
class Bucket:
    sizes: dict[str, int]
    holds: dict[str, tuple[int, int]]
    """Of each dim, the fewest and the most that are padded to this bucket."""
    route: dict[str, Any]
    graphs: dict[str, int]
    """The rows of each capture that is a graph here."""
    eager: tuple[str, ...]
    """Captures that run without a graph here."""
    phases: tuple[str, ...]
    """On streams, and in no capture."""


@dataclass(frozen=True)
class Coverage:
    name: str
    captures: tuple[str, ...]
    buckets: tuple[Bucket, ...]


def coverage(orders: Sequence[Order]) -> Coverage:
    """Of every route of a pipeline that was proven, the smallest bucket first."""
    rounds = [order.round for order in orders]
    entries = {dim: sorted({one.sizes[dim] for one in rounds}) for dim in rounds[0].sizes}
    buckets = tuple(_bucket(round, entries) for round in rounds)
    found = dict.fromkeys(name for bucket in buckets for name in (*bucket.graphs, *bucket.eager))
    return Coverage(rounds[0].name, tuple(found), buckets)


def _bucket(round: Round, entries: dict[str, list[int]]) -> Bucket:
    holds = {}
    for dim, size in round.sizes.items():
        below = [entry for entry in entries[dim] if entry < size]
        holds[dim] = (1 + max(below, default=0), size)
    eager: dict[str, None] = {}
    phases: dict[str, None] = {}
    for phase in round.phases:
        if phase.stream != HOST and phase.capture is None:
            if phase.within:
                eager[phase.within] = None
            else:
                phases[phase.name] = None
    graphs = {capture.name: capture.rows for capture in round.captures}
    route = {name: plain(value) for name, value in round.route.items()}
    return Bucket(round.sizes, holds, route, graphs, tuple(eager), tuple(phases))


def coverage_text(found: Coverage) -> str:
    """A line for every bucket and route, a column for every capture: its rows, or `eager`."""
    first = found.buckets[0]
    head = [*first.sizes, *dict.fromkeys(name for one in found.buckets for name in one.route)]
    table = [[*head, *found.captures]]
    for one in found.buckets:
        sizes = [_range(*one.holds[dim]) for dim in one.sizes]
        route = [
            written(one.route[name]) if name in one.route else "-" for name in head[len(sizes) :]
        ]
        table.append([*sizes, *route, *(_cell(one, name) for name in found.captures)])
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    lines = [
        "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True))
        for row in table
    ]
    out = [f"buckets of {found.name}: requests and rows of each graph", "", *lines, ""]
    out += [_eager(found, name) for name in found.captures if _runs_eagerly(found, name)]
    phases = dict.fromkeys(name for one in found.buckets for name in one.phases)
    out.append(f"in no capture: {few(list(phases)) if phases else 'nothing'}")
    return "\n".join(line.rstrip() for line in out) + "\n"


def _range(least: int, most: int) -> str:
    return f"{most}" if least == most else f"{least} .. {most}"


def _cell(bucket: Bucket, name: str) -> str:
    if name in bucket.graphs:
        return str(bucket.graphs[name])
    return "eager" if name in bucket.eager else "-"


def _runs_eagerly(found: Coverage, name: str) -> bool:
    return any(name in one.eager for one in found.buckets)


def _eager(found: Coverage, name: str) -> str:
    """Where a capture is a graph, and where it never is."""
    graph = [one for one in found.buckets if name in one.graphs]
    if not graph:
        return f"{name}: never a graph"
    never = {dim: _eager_ranges(found, name, dim) for dim in graph[0].sizes}
    parts = [f"{dim} = {_joined(ranges)}" for dim, ranges in never.items() if ranges]
    if not parts:
        return f"{name}: eager on some routes"
    return f"{name}: eager on every route at {', '.join(parts)}"


def _eager_ranges(found: Coverage, name: str, dim: str) -> list[tuple[int, int]]:
    """Of a dim, what is never covered by a graph, whatever the route."""
    covered = {one.sizes[dim] for one in found.buckets if name in one.graphs}
    entries = {one.sizes[dim]: one.holds[dim] for one in found.buckets if name in one.eager}
    return [held for size, held in sorted(entries.items()) if size not in covered]


def _joined(ranges: Iterable[tuple[int, int]]) -> str:
    """Neighbouring ranges as one."""
    found: list[tuple[int, int]] = []
    for least, most in ranges:
        if found and found[-1][1] + 1 == least:
            found[-1] = (found[-1][0], most)
        else:
            found.append((least, most))
    return ", ".join(_range(*one) for one in found)
