"""What each graph of a round costs: streams, updatable tasks, memory.

A graph exists once for every value of the dims it uses: two rounds whose captures hold the same phases,
in the same order, over buffers of the same shapes, replay the same graph.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator
from dataclasses import replace
from math import lcm, prod

from plait.compiler.races.conflicts import copied_in, static_in
from plait.compiler.round import HOST, Buffer, Edge, Phase, Round
from plait.compiler.target import Graphs
from plait.dsl.record import Record
from plait.dsl.span import Span

BYTES = {
    "bool": 1,
    "u8": 1,
    "i8": 1,
    "i16": 2,
    "i32": 4,
    "i64": 8,
    "f16": 2,
    "bf16": 2,
    "f32": 4,
    "f64": 8,
}
"""Of an element of each type."""

INDEX = re.compile(r"\[[0-9]+\]")


class Graph(Record):
    name: str
    """Of its capture, without indices."""
    whole: str
    """The same with them."""
    span: Span
    side: tuple[str, ...]
    """Streams it has work on beside its own."""
    communicators: tuple[str, ...]
    """Groups that its collectives are over."""
    instances: int
    """One for every combination of copies whose addresses it holds."""
    streams: int
    """That all its instances take."""
    tasks: int
    """Phases whose host parameters are rebound."""
    pool: str
    inputs: int
    """Bytes that are copied in at load."""
    results: int
    """Bytes that it makes in its pool, each buffer in a place of its own."""
    opaque: tuple[str, ...]
    """Buffers of both sorts whose size is not known."""


def graphs_of(round: Round, costs: Graphs) -> Iterator[tuple[Hashable, Graph]]:
    """Every graph that a round replays, with what tells it from others."""
    inside: list[list[Phase | Edge]] = [[] for _ in round.captures]
    for item in round.items:
        if isinstance(item, Phase | Edge) and item.capture is not None:
            inside[item.capture].append(item)
    for number, items in enumerate(inside):
        yield _graph(round, number, items, costs)


def _graph(
    round: Round, number: int, items: list[Phase | Edge], costs: Graphs
) -> tuple[Hashable, Graph]:
    phases = [item for item in items if isinstance(item, Phase)]
    capture, buffers = round.captures[number], round.buffers
    alone = replace(round, phases=tuple(phases))
    taken = copied_in(alone, number)
    baked = static_in(alone, number)
    accesses = [access for phase in phases for access in phase.accesses]
    held = [a.buffer for a in accesses if (a.buffer, a.rounds_back) not in taken]
    made = dict.fromkeys(a.buffer for a in accesses if a.writes and a.buffer not in baked)
    on = {item.stream if isinstance(item, Phase) else item.target for item in items}
    side = sorted(on - {capture.stream, HOST})
    groups = sorted({phase.collective.group for phase in phases if phase.collective})
    instances = lcm(*(buffers[buffer].copies for buffer in held))
    each = (
        costs.streams_each
        + costs.streams_a_side * len(side)
        + costs.streams_a_communicator * len(groups)
    )
    unknown = (b for b in (*(b for b, _ in taken), *made) if buffers[b].shape is None)
    graph = Graph(
        name=INDEX.sub("", capture.name),
        whole=capture.name,
        span=capture.span,
        side=tuple(round.stream_name(stream) for stream in side),
        communicators=tuple(round.groups[group].name for group in groups),
        instances=instances,
        streams=instances * each,
        tasks=sum(any(buffers[a.buffer].task for a in phase.accesses) for phase in phases),
        pool=capture.name if capture.pool is None else round.pools[capture.pool].name,
        inputs=sum(_bytes(buffers[buffer]) for buffer, _ in taken),
        results=sum(_bytes(buffers[buffer]) * buffers[buffer].copies for buffer in made),
        opaque=tuple(dict.fromkeys(buffers[buffer].name for buffer in unknown)),
    )
    what = (capture.name, capture.rows, round.stream_name(capture.stream), instances)
    return (what, _held(round, items)), graph


def _held(round: Round, items: list[Phase | Edge]) -> Hashable:
    """All that is captured, by name: equal for two rounds that replay one graph."""
    buffers, names = round.buffers, [stream.name for stream in round.streams]
    shapes: dict[int, tuple[int, ...] | None] = {}
    steps: list[Hashable] = []
    for item in items:
        if isinstance(item, Edge):
            steps.append((round.source_name(item.source), names[item.target]))
            continue
        told = item.collective and (item.collective.kind, item.collective.capacity)
        steps.append((item.name, names[item.stream], item.rows, told))
        for access in item.accesses:
            buffer = buffers[access.buffer]
            shapes[access.buffer] = buffer.shape
            region = access.region
            steps.append((buffer.name, access.kind, access.argument, access.rounds_back, region))
    return tuple(steps), tuple(shapes.values())


def _bytes(buffer: Buffer) -> int:
    """Of one copy on the device; 0 where that is not known."""
    if buffer.shape is None or buffer.place != "device":
        return 0
    return prod(buffer.shape) * BYTES[buffer.dtype]
