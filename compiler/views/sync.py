"""The waits of a round accounted for: what each is for, what covers each edge that is none, and counts."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from typing import Any

from plait.compiler.order import Order
from plait.compiler.round import Edge, Round
from plait.compiler.target import Target
from plait.compiler.views.hollow import Whole, whole, whole_lines
from plait.compiler.wiring import Cover, Pair, Reason, account
from plait.dsl.render.figures import counted
from plait.dsl.values import plain
from plait.runtime.schedule import Bucket, Schedule

MOST_PAIRS = 3
"""Of accesses that the page shows for one wait."""


@dataclass(frozen=True, slots=True)
class Met:
    """Two accesses that a wait keeps in order."""

    buffer: str
    earlier: str
    earlier_kind: str
    later: str
    later_kind: str
    rounds_back: int


@dataclass(frozen=True, slots=True)
class Waiting:
    """A wait: `target` on a stream begins after `source`."""

    line: int
    edge: str
    source: str
    target: str
    stream: str
    rounds_back: int
    needed: tuple[Met, ...]
    otherwise: str
    """What it is for where no access needs it."""


@dataclass(frozen=True, slots=True)
class Needless:
    """An edge that costs no wait, at one target: that comes after `by`, which comes after the source."""

    line: int
    edge: str
    target: str
    by: str | None
    """None: nothing was ever issued where the edge begins."""
    by_rounds_back: int


@dataclass(frozen=True, slots=True)
class Counts:
    waits: int
    records: int


@dataclass(frozen=True)
class Sync:
    name: str
    sizes: dict[str, int]
    route: dict[str, Any]
    waits: tuple[Waiting, ...]
    dropped: tuple[Needless, ...]
    written: int
    """Edges between two queues."""
    emitted: Counts
    least: Counts
    """What the declarations alone would need."""
    whole: tuple[Whole, ...]


def sync(found: Order, schedule: Schedule, target: Target) -> Sync:
    """The account of a proven round at one bucket, and of the program that its schedule has for it."""
    round, made = found.round, account(found)
    return Sync(
        round.name,
        round.sizes,
        {name: plain(value) for name, value in round.route.items()},
        tuple(_waiting(round, one) for one in made.kept),
        tuple(_needless(round, one) for one in made.dropped),
        made.written,
        _emitted(schedule, _bucket(schedule, round)),
        Counts(len(made.least), made.least_records),
        whole(round, target),
    )


def _waiting(round: Round, reason: Reason) -> Waiting:
    wait = reason.wait
    edge = round.items[wait.edge]
    assert isinstance(edge, Edge)
    text = ", then ".join(round.item_name(place) for place in wait.edges)
    host = isinstance(round.items[wait.target], Edge)
    return Waiting(
        edge.span.line,
        text,
        round.item_name(wait.source),
        "the host" if host else round.item_name(wait.target),
        round.stream_name(edge.target),
        wait.rounds_back,
        tuple(_met(round, pair) for pair in reason.pairs),
        reason.structure,
    )


def _met(round: Round, pair: Pair) -> Met:
    earlier, later = pair.earlier, pair.later
    buffer = round.buffers[later.access.buffer].name
    kinds = earlier.access.kind, later.access.kind
    names = earlier.phase.name, later.phase.name
    return Met(buffer, names[0], kinds[0], names[1], kinds[1], pair.rounds_back)


def _needless(round: Round, cover: Cover) -> Needless:
    dropped = cover.dropped
    edge = round.items[dropped.edge]
    assert isinstance(edge, Edge)
    return Needless(
        edge.span.line,
        round.edge_text(edge),
        round.item_name(dropped.target),
        None if cover.item is None else round.item_name(cover.item),
        cover.rounds_back,
    )


def _bucket(schedule: Schedule, round: Round) -> Bucket:
    sizes = tuple(round.sizes.items())
    route = tuple((name, plain(value)) for name, value in round.route.items())
    return next(one for one in schedule.buckets if (one.sizes, one.route) == (sizes, route))


def _emitted(schedule: Schedule, bucket: Bucket) -> Counts:
    """Of a program, with those of the captures it replays."""
    program = schedule.program_of(bucket)
    count = Counter(one.op for one in program)
    for one in program:
        if one.op == "replay":
            count.update(inner.op for inner in schedule.captures[one.of].program)
    return Counts(count["wait"] + count["block"] + count["external"], count["record"])


def sync_text(found: Sync) -> str:
    """The account as a page for a terminal."""
    named = {**found.sizes, **found.route}
    at = ", ".join(f"{name} = {json.dumps(value)}" for name, value in named.items())
    out = [f"waits of {found.name}" + (f" at {at}" if at else ""), ""]
    for wait in found.waits:
        ago = _ago(wait.rounds_back)
        out.append(f"{wait.line:>5}  {wait.target} waits for {wait.source}{ago}   ({wait.edge})")
        out += [f"         {_met_text(one)}" for one in wait.needed[:MOST_PAIRS]]
        if len(wait.needed) > MOST_PAIRS:
            out.append(f"         and {len(wait.needed) - MOST_PAIRS} more pairs")
        if wait.otherwise:
            out.append(f"         {wait.otherwise}")
    if not found.waits:
        out.append("       none")
    out += ["", "edges that cost none", ""]
    for edge in found.dropped:
        out.append(f"{edge.line:>5}  {edge.edge}")
        if edge.by is None:
            out.append("         nothing is ever issued there")
        else:
            by = edge.by + _ago(edge.by_rounds_back)
            out.append(f"         {edge.target} comes after {by}, which covers it")
    if not found.dropped:
        out.append("       none")
    out += whole_lines(found.whole)
    out += ["", f"written  {found.written} edges between two streams"]
    out += [
        f"{name.ljust(8)} {counted(one.waits, 'wait')}, {counted(one.records, 'record')}"
        for name, one in (("emitted", found.emitted), ("least", found.least))
    ]
    return "\n".join(out) + "\n"


def _met_text(met: Met) -> str:
    earlier = f"{met.earlier}{_ago(met.rounds_back)} {met.earlier_kind}"
    return f"{met.buffer}: {earlier}, {met.later} {met.later_kind}"


def _ago(rounds_back: int) -> str:
    return f" (round r - {rounds_back})" if rounds_back else ""
