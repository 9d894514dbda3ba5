"""What runs as a graph in each bucket and what does not, in requests and in rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from plait.compiler.graphs.capturable import obstacle
from plait.compiler.order import Order
from plait.compiler.round import HOST, Capture, Phase, Round
from plait.compiler.target import Target
from plait.compiler.views.steps import few
from plait.dsl.values import plain, written

Runs = Literal["graph", "segments", "eager"]
"""All that a round has on streams in one graph, some of it in graphs, or none."""


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
    why: dict[str, str]
    """Of captures that run without a graph, the condition that does not hold, as it is written."""
    side: dict[str, tuple[str, ...]]
    """Of each graph that has any, the streams beside its own."""
    runs: Runs
    obstacles: dict[str, str]
    """Of phases in no capture, why no graph may hold them, where none may."""


@dataclass(frozen=True)
class Coverage:
    name: str
    captures: tuple[str, ...]
    buckets: tuple[Bucket, ...]


def coverage(orders: Sequence[Order], target: Target) -> Coverage:
    """Of every route of a pipeline that was proven, the smallest bucket first."""
    rounds = [order.round for order in orders]
    entries = {dim: sorted({one.sizes[dim] for one in rounds}) for dim in rounds[0].sizes}
    buckets = tuple(_bucket(round, entries, target) for round in rounds)
    found = dict.fromkeys(name for bucket in buckets for name in (*bucket.graphs, *bucket.eager))
    return Coverage(rounds[0].name, tuple(found), buckets)


def _bucket(round: Round, entries: dict[str, list[int]], target: Target) -> Bucket:
    holds = {}
    for dim, size in round.sizes.items():
        below = [entry for entry in entries[dim] if entry < size]
        holds[dim] = (1 + max(below, default=0), size)
    eager: dict[str, None] = {}
    phases: dict[str, str | None] = {}
    for phase in round.phases:
        if phase.stream != HOST and phase.capture is None:
            if phase.within:
                eager[phase.within] = None
            else:
                phases[phase.name] = obstacle(round, phase, target)
    graphs = {capture.name: capture.rows for capture in round.captures}
    conditions = {one.within: _condition(one) for one in round.phases if one.within in eager}
    why = {name: condition for name, condition in conditions.items() if condition}
    side = {one.name: streams for one in round.captures if (streams := _side(round, one))}
    segments = eager or phases or len(graphs) > 1
    return Bucket(
        round.sizes,
        holds,
        {name: plain(value) for name, value in round.route.items()},
        graphs,
        tuple(eager),
        tuple(phases),
        why,
        side,
        "eager" if not graphs else "segments" if segments else "graph",
        {name: reason for name, reason in phases.items() if reason},
    )


def _condition(phase: Phase) -> str:
    """What stands behind `when` at the head of the capture that a phase is in."""
    if phase.braces is None:
        return ""
    head = phase.braces.text.partition("{")[0]
    return " ".join(head.partition(" when ")[2].split())


def _side(round: Round, capture: Capture) -> tuple[str, ...]:
    streams = (one.stream for one in round.phases if one.capture == capture.number)
    others = dict.fromkeys(one for one in streams if one != capture.stream)
    return tuple(map(round.stream_name, others))


def coverage_text(found: Coverage) -> str:
    """A line for every bucket and route, a column for every capture, its rows or `eager`, and how it runs."""
    first = found.buckets[0]
    head = [*first.sizes, *dict.fromkeys(name for one in found.buckets for name in one.route)]
    table = [[*head, *found.captures, "round"]]
    for one in found.buckets:
        sizes = [_range(*one.holds[dim]) for dim in one.sizes]
        route = [
            written(one.route[name]) if name in one.route else "-" for name in head[len(sizes) :]
        ]
        table.append([*sizes, *route, *(_cell(one, name) for name in found.captures), one.runs])
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    lines = [
        "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True))
        for row in table
    ]
    out = [f"buckets of {found.name}: requests and rows of each graph", "", *lines, ""]
    out += [_eager(found, name) for name in found.captures if _runs_eagerly(found, name)]
    out += [line for name in found.captures for line in _side_lines(found, name)]
    phases = dict.fromkeys(name for one in found.buckets for name in one.phases)
    out.append(f"in no capture: {few(list(phases)) if phases else 'nothing'}")
    obstacles = {name: why for one in found.buckets for name, why in one.obstacles.items()}
    out += [f"{name}: never in a graph ({why})" for name, why in obstacles.items()]
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
        return f"{name}: never a graph{_why(found, name)}"
    never = {dim: _eager_ranges(found, name, dim) for dim in graph[0].sizes}
    parts = [f"{dim} = {_joined(ranges)}" for dim, ranges in never.items() if ranges]
    if not parts:
        return f"{name}: eager on some routes{_why(found, name)}"
    return f"{name}: eager on every route at {', '.join(parts)}{_why(found, name)}"


def _why(found: Coverage, name: str) -> str:
    conditions = dict.fromkeys(one.why[name] for one in found.buckets if name in one.why)
    return f" (a graph when {'; '.join(conditions)})" if conditions else ""


def _side_lines(found: Coverage, name: str) -> Iterator[str]:
    """Where a graph forks to streams beside its own, and where it does not."""
    if not any(name in one.side for one in found.buckets):
        return
    where: dict[tuple[str, ...], dict[str, list[tuple[int, int]]]] = {}
    for one in found.buckets:
        if name in one.graphs:
            ranges = where.setdefault(one.side.get(name, ()), {})
            for dim in one.sizes:
                ranges.setdefault(dim, []).append(one.holds[dim])
    for streams, ranges in where.items():
        forks = f"forks to {', '.join(streams)}" if streams else "forks to no stream"
        at = [f"{dim} = {_joined(sorted(set(held)))}" for dim, held in ranges.items()]
        yield f"{name}: {forks}{' at ' * bool(at)}{', '.join(at)}"


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
