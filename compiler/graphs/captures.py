"""The graphs of a round, bucket by bucket, and what is in none: for `plait explain --captures`."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

from plait.compiler.graphs.capturable import obstacle
from plait.compiler.order import Order
from plait.compiler.races.conflicts import copied_in, static_in
from plait.compiler.round import Edge, Phase, Round
from plait.compiler.target import Target
from plait.compiler.views.steps import few
from plait.dsl.values import plain, written
from plait.runtime.schedule import WIDTHS


@dataclass(frozen=True, slots=True)
class Copied:
    """An input that is copied in at every replay. `bytes`: None for an opaque one."""

    buffer: str
    rounds_back: int
    bytes: int | None


@dataclass(frozen=True, slots=True)
class Output:
    """What a graph leaves in its pool: until the last phase that reads it, the pool may not replay."""

    buffer: str
    last_reader: str


@dataclass(frozen=True, slots=True)
class Graph:
    """One capture at one bucket."""

    name: str
    line: int
    stream: str
    rows: int
    pool: str | None
    phases: tuple[str, ...]
    side_streams: tuple[str, ...]
    static: tuple[str, ...]
    tasks: tuple[str, ...]
    copied: tuple[Copied, ...]
    kept: tuple[Output, ...]
    waits_for: tuple[str, ...]
    """Edges into the graph: events from outside, recorded once a replay."""

    @property
    def bytes_copied(self) -> int:
        return sum(one.bytes or 0 for one in self.copied)


@dataclass(frozen=True, slots=True)
class Eager:
    """A phase outside captures. `why` no graph may hold it; None: one may."""

    phase: str
    line: int
    stream: str
    why: str | None


@dataclass(frozen=True)
class Bucket:
    sizes: dict[str, int]
    route: dict[str, Any]
    graphs: tuple[Graph, ...]
    eager: tuple[Eager, ...]

    @property
    def at(self) -> str:
        named = {**self.sizes, **self.route}
        return ", ".join(f"{name} = {written(value)}" for name, value in named.items()) or "any"


@dataclass(frozen=True)
class Captures:
    name: str
    buckets: tuple[Bucket, ...]


def captures(orders: list[Order], target: Target) -> Captures:
    buckets = tuple(_bucket(order.round, target) for order in orders)
    return Captures(orders[0].round.name, buckets)


def _bucket(round: Round, target: Target) -> Bucket:
    eager = tuple(
        Eager(p.name, p.span.line, round.stream_name(p.stream), obstacle(round, p, target))
        for p in round.phases
        if p.capture is None
    )
    graphs = tuple(_graph(round, number) for number in range(len(round.captures)))
    route = {name: plain(value) for name, value in round.route.items()}
    return Bucket(dict(round.sizes), route, graphs, eager)


def _graph(round: Round, number: int) -> Graph:
    capture = round.captures[number]
    inner = [phase for phase in round.phases if phase.capture == number]
    used = dict.fromkeys(a.buffer for phase in inner for a in phase.accesses)
    fixed = static_in(round, number)
    edges = [edge for edge in round.edges if edge.capture == number]
    sides = dict.fromkeys(phase.stream for phase in inner if phase.stream != capture.stream)
    return Graph(
        capture.name,
        capture.span.line,
        round.stream_name(capture.stream),
        capture.rows,
        None if capture.pool is None else round.pools[capture.pool].name,
        tuple(phase.name for phase in inner),
        tuple(map(round.stream_name, sides)),
        tuple(round.buffers[b].name for b in used if b in fixed and not round.buffers[b].task),
        tuple(round.buffers[b].name for b in used if round.buffers[b].task),
        tuple(
            Copied(round.buffers[buffer].name, back, _bytes(round, buffer))
            for buffer, back in copied_in(round, number)
        ),
        tuple(_kept(round, inner, fixed)),
        tuple(round.edge_text(edge) for edge in edges if _crosses(round, edge)),
    )


def _bytes(round: Round, buffer: int) -> int | None:
    found = round.buffers[buffer]
    return None if found.shape is None else prod(found.shape) * WIDTHS[found.dtype]


def _crosses(round: Round, edge: Edge) -> bool:
    source = edge.source
    if source.kind == "phase":
        return round.phases[source.number].capture != edge.capture
    return source.kind == "elsewhere"


def _kept(round: Round, inner: list[Phase], fixed: set[int]) -> list[Output]:
    """What phases outside read of what the graph writes into its own memory."""
    written = {a.buffer for phase in inner for a in phase.accesses if a.writes}
    lasting = {number for number, buffer in enumerate(round.buffers) if buffer.carried}
    readers: dict[int, str] = {}
    for phase in round.phases:
        for access in phase.accesses if phase.number > inner[-1].number else ():
            if access.reads and access.buffer in written - fixed - lasting:
                readers[access.buffer] = phase.name
    return [Output(round.buffers[number].name, name) for number, name in readers.items()]


def captures_text(found: Captures) -> str:
    """The graphs as a page for a terminal, those that differ in rows and bytes alone as one."""
    out = [f"graphs of {found.name}"]
    groups: dict[tuple, list[tuple[Bucket, Graph]]] = {}
    for bucket in found.buckets:
        for graph in bucket.graphs:
            key = (graph.name, graph.phases, graph.static, graph.kept, graph.waits_for)
            groups.setdefault(key, []).append((bucket, graph))
    for group in groups.values():
        graph = group[0][1]
        pool = f", in the pool {graph.pool}" if graph.pool else ""
        out += ["", f"{graph.line:>5}  {graph.name} on {graph.stream}{pool}: {few(graph.phases)}"]
        copied = [f"{'prev ' * one.rounds_back}{one.buffer}" for one in graph.copied]
        kept = [f"{one.buffer} (until {one.last_reader})" for one in graph.kept]
        lists = [("side streams", graph.side_streams), ("static", graph.static)]
        lists += [("task inputs", graph.tasks), ("copied in", tuple(copied))]
        lists += [("kept in the pool", tuple(kept)), ("waits inside", graph.waits_for)]
        out += [f"       {name}: {', '.join(names)}" for name, names in lists if names]
        for bucket, one in group:
            unknown = " and the opaque ones" if any(c.bytes is None for c in one.copied) else ""
            size = f"rows {one.rows:,}, {one.bytes_copied:,} bytes{unknown} copied in a replay"
            out.append(f"       at {bucket.at}: {size}")
    if not groups:
        out += ["", "       none"]
    out += ["", "in no graph", ""]
    lines = dict.fromkeys(
        f"{one.line:>5}  {one.phase} on {one.stream}: {one.why or 'a graph may hold it'}"
        for bucket in found.buckets
        for one in bucket.eager
    )
    return "\n".join([*out, *(lines or ["       nothing"])]) + "\n"
