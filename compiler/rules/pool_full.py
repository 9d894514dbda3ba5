"""More values in a pool than it holds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from plait.compiler.order import Order, order
from plait.compiler.races.mend import MENDED
from plait.compiler.races.written import Statement
from plait.compiler.round import HOST, Edge, Round, Source
from plait.compiler.rules.rule import Rule
from plait.compiler.target import Target
from plait.compiler.values import Use, Value, too_many, values
from plait.dsl.diagnostic import Diagnostic, Fix, Label
from plait.dsl.record import Record

RULE = Rule(
    code="PL852",
    title="a value is written into a pool that is full",
    why="""\
A pool of k values has k slots, which take turns: a value has its slot from its write to its last read, and
the write of one more takes the slot of a value that is still read. What counts is what may run at once,
not the order of the text. DeepEP has two slots for low-latency results, and each operation clears the
next one. Write the value after the late reader, with an edge if that is on another stream, or let the pool
hold more where the library can.""",
    bad="""\
spec 1
pipeline p {
  stream main
  pool ll = 2
  buffer x : f32[4] carried
  buffer a : f32[4] in ll
  buffer b : f32[4] in ll
  buffer c : f32[4] in ll
  phase send_a on main { reads x  writes a }
  phase send_b on main { reads x  writes b }
  phase send_c on main { reads x  writes c }
  phase add on main { reads a, b, c  writes x }
}
""",
    mended="""\
spec 1
pipeline p {
  stream main
  pool ll = 2
  buffer x : f32[4] carried
  buffer a : f32[4] in ll
  buffer b : f32[4] in ll
  buffer c : f32[4] in ll
  buffer ab : f32[4]
  phase send_a on main { reads x  writes a }
  phase send_b on main { reads x  writes b }
  phase add_ab on main { reads a, b  writes ab }
  phase send_c on main { reads x  writes c }
  phase add on main { reads ab, c  writes x }
}
""",
)


class Slots(Record):
    """What holds a number of values."""

    words: str
    most: int
    holders: Mapping[int, int]
    """Of each buffer that is kept there, which of its values it is a part of."""


def check(round: Round, found: Order, target: Target) -> list[Diagnostic]:
    return [
        _diagnostic(round, slots, *full)
        for slots in _slots(round, target)
        if (full := too_many(values(_long(found, slots.most), slots.holders), slots.most))
    ]


def _long(found: Order, most: int) -> Order:
    """So many rounds that one more value than there is room for may come from a round each."""
    return found if found.rounds > most else order(found.round, most + 1)


def _slots(round: Round, target: Target) -> Iterator[Slots]:
    kept: dict[int, list[int]] = {}
    for number, buffer in enumerate(round.buffers):
        if buffer.pool is not None:
            kept.setdefault(buffer.pool, []).append(number)
    for number, buffers in kept.items():
        pool = round.pools[number]
        if pool.size is not None:
            yield Slots(f"the pool `{pool.name}`", pool.size, {one: one for one in buffers})
    held = target.exchange and target.exchange.held
    if held is None:
        return
    for group, holders in _results(round).items():
        pools = {round.buffers[number].pool for number in holders}
        sizes = [None if pool is None else round.pools[pool].size for pool in pools]
        if len(sizes) > 1 or sizes[0] is None or sizes[0] > held:
            words = f"the exchange of `{round.groups[group].name}` on {target.name}"
            yield Slots(words, held, holders)


def _results(round: Round) -> dict[int, dict[int, int]]:
    """By group, what its low-latency operations write: of each buffer, the first of its operation."""
    found: dict[int, dict[int, int]] = {}
    for phase in round.phases:
        written = [access.buffer for access in phase.accesses if access.writes]
        if written and phase.collective and phase.collective.kind == "low_latency":
            holders = found.setdefault(phase.collective.group, {})
            first = next((holders[one] for one in written if one in holders), written[0])
            holders |= dict.fromkeys(written, first)
    return found


def _diagnostic(round: Round, slots: Slots, value: Value, alive: list[Value]) -> Diagnostic:
    writer = value.uses[0]
    late = [(use, one) for one in alive if (use := one.late(value))]
    use, held = min(late, key=lambda pair: pair[0].place)
    names = [_name(round, one.uses[0]) for one in alive]
    shown = " and ".join(names) if len(names) < 3 else ", ".join(names)
    labels = [
        Label(one.uses[0].access.span, f"begins {_name(round, one.uses[0])}") for one in alive
    ]
    labels.append(Label(use.access.span, f"`{use.phase.name}` may still use it"))
    plural = "values" if slots.most > 1 else "value"
    return Diagnostic(
        RULE.code,
        f"`{writer.phase.name}` writes {_name(round, writer)} into {slots.words}, which holds"
        f" {slots.most} {plural}: {shown} may be alive, as `{use.phase.name}` still uses"
        f" {_name(round, held.uses[0])}",
        writer.access.span,
        labels=tuple(dict.fromkeys(one for one in labels if one.span != writer.access.span)),
        facts=(
            ("memory", slots.words),
            ("values", ", ".join([*names, _name(round, writer)])),
            ("phases", f"{use.phase.name}, {writer.phase.name}"),
        ),
        help=_help(round, use, value),
        fix=_fix(round, use, writer),
    )


def _name(round: Round, use: Use) -> str:
    return f"`{round.buffers[use.access.buffer].name}`"


def _help(round: Round, late: Use, value: Value) -> str:
    """How the write comes after the use that is late, or needs no slot of its own."""
    writer = value.uses[0]
    if late.phase in [use.phase for use in value.uses]:
        return f"use {_name(round, late)} up above `{writer.phase.name}`, in a phase of its own"
    if late.place >= writer.place:
        return f"issue `{writer.phase.name}` below `{late.phase.name}`"
    if late.phase.capture != writer.phase.capture:
        return f"let what runs `{writer.phase.name}` wait for what runs `{late.phase.name}`"
    return ""


def _fix(round: Round, late: Use, writer: Use) -> Fix | None:
    """The edge that lets the write wait for the use, where it is issued above."""
    one, other = late.phase, writer.phase
    if late.place >= writer.place or one.capture != other.capture:
        return None
    back = writer.moment.round - late.moment.round
    if back and one.capture is not None:  # a graph waits for no round before
        return None
    word = "join" if other.stream == HOST or other.stream < one.stream else "fork"
    edge = Edge(MENDED, word, Source("phase", one.number, back), other.stream, other.span)
    editable = not (one.repeated or other.repeated) and (one.braces == other.braces)
    return Statement([], [], round.edge_text(edge), other.statement, editable).fix()
