"""Rows of a phase or a capture that are not those of the data: requests counted as tokens, or otherwise."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from plait.compiler.order import Order
from plait.compiler.round import Capture, Phase, Round
from plait.compiler.rows.extent import Extent
from plait.compiler.rows.widths import Width, widths
from plait.compiler.rules.rule import Rule
from plait.compiler.target import Target
from plait.dsl.diagnostic import Diagnostic, Label
from plait.dsl.record import Record
from plait.dsl.span import Span

RULE = Rule(
    code="PL604",
    title="the rows of a phase or a capture are not those of its data",
    why="""\
A round has several widths: a row for each request, or several for each that is drafted, verified or
extended. `rows` says on how many of them a phase works and a graph is captured; where nothing that it
reads or writes has as many, or it writes a whole number of times as many, requests were taken for
tokens, or one stage's width for another's. A graph so captured holds no batch, and runs eagerly
without a word. Write the rows that the data has, or give the data the rows that are meant.""",
    bad="""\
spec 1
pipeline p {
  param width = 3
  dim bs in [1, 2, 4]
  stream main
  buffer tree   : i64[bs, width] carried
  buffer logits : f32[bs * width, 8]
  capture verify on main rows bs {
    phase target on main { reads tree  writes logits }
  }
}
""",
    mended="""\
spec 1
pipeline p {
  param width = 3
  dim bs in [1, 2, 4]
  stream main
  buffer tree   : i64[bs, width] carried
  buffer logits : f32[bs * width, 8]
  capture verify on main rows bs * width {
    phase target on main { reads tree  writes logits }
  }
}
""",
)


REGROUPED = ("all_gather", "reduce_scatter", "all_to_all", "low_latency")
"""Collectives that give each rank rows of others."""


class _Declared:
    """Rows that are written down, and what they are the rows of."""

    def __init__(self, round: Round, what: str, rows: int, extent: Extent, span: Span):
        self.where = round.where
        self.what = what
        self.rows = rows
        self.extent = extent
        self.span = span

    def says(self, then: str, other: Span, expression: str, why: str, buffer: str) -> Diagnostic:
        many = f"{self.rows} row{'s' * (self.rows > 1)}"
        message = f"{self.what} on {many}{self.where}, {then}"
        facts = (("rows", self.extent.text), ("buffer", buffer), ("its rows", expression))
        help = f"write `rows {expression}`, or give `{buffer}` the rows that are meant"
        labels = (Label(other, why),)
        return Diagnostic(RULE.code, message, self.span, labels=labels, facts=facts, help=help)

    def against(self, found: list[Width], written: list[Width]) -> Diagnostic | None:
        """What is wrong where these are all widths, and those the ones that it writes over."""
        alike = [one for one in found if one.rows.dims == self.extent.dims]
        if not alike:
            return None
        for one in written:
            if self.many(one) and self.rows not in one.counts:
                return self.but(one, "and writes")
        if any(self.rows in one.counts for one in found):
            return None
        nearest = min(alike, key=lambda one: abs(one.rows.size - self.rows))
        return self.but(nearest, "and nothing that it touches has as many; nearest comes")

    def many(self, width: Width) -> bool:
        return width.rows.size > self.rows and width.rows.times(self.extent)

    def but(self, width: Width, then: str) -> Diagnostic:
        name, has = width.buffer.name, int(width.rows.size)
        kind = width.access.kind
        why = f"{kind} {name}, which has {has}: {width.rows.text}"
        then = f"{then} `{name}`, which has {has}"
        return self.says(then, width.access.span, width.rows.text, why, name)


def check(round: Round, order: Order, target: Target) -> list[Diagnostic]:
    inside: dict[int, list[Phase]] = defaultdict(list)
    found: list[Diagnostic | None] = []
    for phase in round.phases:
        if phase.capture is not None:
            inside[phase.capture].append(phase)
        if phase.extent is not None and phase.rows is not None and phase.rows_span is not None:
            what = f"`{phase.name}` works"
            declared = _Declared(round, what, phase.rows, phase.extent, phase.rows_span)
            found.append(declared.against(widths(round, [phase]), _written(round, [phase])))
    found += _captures(round, inside)
    return [one for one in found if one is not None]


def _captures(round: Round, inside: dict[int, list[Phase]]) -> Iterator[Diagnostic | None]:
    for capture in round.captures:
        if capture.extent is None or capture.rows_span is None:
            continue
        what = f"`{capture.name}` is captured"
        declared = _Declared(round, what, capture.rows, capture.extent, capture.rows_span)
        phases = inside[capture.number]
        found = _captured(round, declared, phases, _NOTHING)
        if found is not None:
            found = _captured(round, declared, phases, _wide(round, capture, phases))
        yield found


def _captured(
    round: Round, declared: _Declared, phases: list[Phase], wide: _Wide
) -> Diagnostic | None:
    if (wider := _wider(round, declared, phases, wide)) is not None:
        return wider
    if any(phase.rows == declared.rows for phase in phases):
        return None
    written = _written(round, [one for one in phases if one.rows is None])
    written = [one for one in written if one.access.buffer not in wide.gathered | wide.within]
    found = declared.against(widths(round, phases), written)
    return None if found is None or _of_two(round, declared.rows, phases) else found


class _Wide(Record):
    """Buffers that have more rows than a graph is captured on, and are right to."""

    gathered: frozenset[int]
    """With rows of other ranks, or computed from those."""
    within: frozenset[int]
    """Spread out of its rows, as to several experts each, and gone when it ends."""


_NOTHING = _Wide(frozenset(), frozenset())


def _wide(round: Round, capture: Capture, phases: list[Phase]) -> _Wide:
    outside = {a.buffer for p in round.phases if p.capture != capture.number for a in p.accesses}
    inner = {a.buffer for p in phases for a in p.accesses if a.reads} - outside
    made: set[int] = set()
    gathered: set[int] = set()
    within: set[int] = set()
    for phase in phases:
        own = widths(round, [phase])
        reads = [one for one in own if one.access.reads]
        regroups = phase.collective is not None and phase.collective.kind in REGROUPED
        spreads = any(
            one.rows.size == capture.rows and (one.of_features or one.access.buffer in made)
            for one in reads
        )
        for one in own:
            buffer, rows = one.access.buffer, one.rows.size
            alike = {other.access.buffer for other in reads if other.rows.size == rows}
            if not one.access.writes:
                continue
            if rows == capture.rows:
                made.add(buffer)
            elif regroups or alike & gathered:
                gathered.add(buffer)
            elif buffer in inner and (spreads or alike & within):
                within.add(buffer)
    return _Wide(frozenset(gathered), frozenset(within))


def _wider(
    round: Round, declared: _Declared, phases: list[Phase], wide: _Wide
) -> Diagnostic | None:
    """A phase of a graph that works on more rows than that is captured on."""
    right = wide.gathered
    if any(phase.rows == declared.rows for phase in phases):
        right |= wide.within
    for phase in phases:
        extent, span = phase.extent, phase.rows_span
        if extent is None or span is None or phase.rows is None:
            continue
        if extent.dims != declared.extent.dims or phase.rows <= declared.rows:
            continue
        own = [one for one in widths(round, [phase]) if one.access.buffer in right] if right else []
        if not any(phase.rows in one.counts for one in own):
            then = f"and `{phase.name}` in it works on {phase.rows}"
            why = f"works on {phase.rows}: {extent.text}"
            return declared.says(then, span, extent.text, why, phase.name)
    return None


def _of_two(round: Round, rows: int, phases: list[Phase]) -> bool:
    """Whether the rows are those of two calls of one module, side by side in one graph."""
    sizes: dict[Span, dict[str, int]] = defaultdict(dict)
    for one in widths(round, phases):
        sizes[one.access.span][one.buffer.name] = int(one.rows.size)
    return any(
        rows - size in own.values()
        for own in sizes.values()
        if len(own) > 1
        for size in own.values()
    )


def _written(round: Round, phases: list[Phase]) -> list[Width]:
    """What they compute: what comes from other ranks has as many rows as those bring."""
    own = [one for one in phases if one.collective is None or one.collective.kind not in REGROUPED]
    return [one for one in widths(round, own) if one.access.kind == "writes"]
