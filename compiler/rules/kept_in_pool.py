"""Data that has to last, in memory that every replay overwrites."""

from __future__ import annotations

import re

from plait.compiler.order import Order
from plait.compiler.round import Access, Buffer, Capture, Phase, Round
from plait.compiler.rules.rule import Rule
from plait.compiler.target import Target
from plait.dsl.diagnostic import Diagnostic, Edit, Fix, Label
from plait.dsl.span import Span

RULE = Rule(
    code="PL511",
    title="what has to last lies in memory that replays overwrite",
    why="""\
The memory of a pool of graphs is overwritten by every replay of any of them. A `carried` buffer has to
last into the next round, and a `static` one from whoever fills it to the graph that has its address
baked in; in such a pool, as when it is first made while a graph is captured, neither lasts. What a phase
outside those graphs writes there, scratch too, a replay beside it spoils. Take it out of the pool.""",
    bad="""\
spec 1
pipeline p {
  pool graphs
  stream main
  buffer x : i64[4] carried
  buffer kv : i64[4] carried in graphs
  capture step on main rows 4 in graphs {
    phase attend on main { updates x, kv }
  }
}
""",
    mended="""\
spec 1
pipeline p {
  pool graphs
  stream main
  buffer x : i64[4] carried
  buffer kv : i64[4] carried
  capture step on main rows 4 in graphs {
    phase attend on main { updates x, kv }
  }
}
""",
)


def check(round: Round, order: Order, target: Target) -> list[Diagnostic]:
    first: dict[int, Capture] = {}
    for capture in round.captures:
        if capture.pool is not None and round.pools[capture.pool].size is None:
            first.setdefault(capture.pool, capture)
    if not any(buffer.pool in first for buffer in round.buffers):
        return []
    written = _from_outside(round)
    found = []
    for number, buffer in enumerate(round.buffers):
        if buffer.pool is None or buffer.pool not in first:
            continue
        if buffer.carried or buffer.static:
            why = f"is {'carried' if buffer.carried else 'static'}"
            found.append(_diagnostic(round, buffer, why, first[buffer.pool]))
        elif (number, buffer.pool) in written:
            phase, access = written[number, buffer.pool]
            label = Label(access.span, f"`{phase.name}` is in no graph of that pool")
            why = f"is written by `{phase.name}`"
            found.append(_diagnostic(round, buffer, why, first[buffer.pool], label))
    return found


def _from_outside(round: Round) -> dict[tuple[int, int], tuple[Phase, Access]]:
    """Of each buffer in a pool, the first phase that writes it and stands in no graph of that pool."""
    found = {}
    for phase in round.phases:
        graph = None if phase.capture is None else round.captures[phase.capture]
        if graph is None and phase.braces is not None:
            continue
        for access in phase.accesses:
            pool = round.buffers[access.buffer].pool
            if access.writes and pool is not None and (graph is None or graph.pool != pool):
                found.setdefault((access.buffer, pool), (phase, access))
    return found


def _diagnostic(round: Round, buffer: Buffer, why: str, by: Capture, *labels: Label) -> Diagnostic:
    assert buffer.pool is not None
    pool = round.pools[buffer.pool].name
    fix = _outside(buffer.statement, pool)
    return Diagnostic(
        RULE.code,
        f"`{buffer.name}` {why}, and lies in the pool `{pool}`, which every replay of"
        f" `{by.name}` overwrites",
        buffer.span,
        labels=(Label(by.span, f"overwrites the pool `{pool}`"), *labels),
        facts=(("buffer", buffer.name), ("memory", f"the pool `{pool}`")),
        help="" if fix else f"declare it without `in {pool}`",
        fix=fix,
    )


def _outside(statement: Span | None, pool: str) -> Fix | None:
    """The attribute taken off."""
    found = statement and re.search(rf"\s+in\s+{re.escape(pool)}\b", statement.text)
    if statement is None or not found:
        return None
    start, end = (statement.start + place for place in found.span())
    return Fix(f"take `in {pool}` off it", (Edit(Span(statement.source, start, end), ""),))
