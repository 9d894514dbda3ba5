"""A read of something that no phase above it has written this round."""

from __future__ import annotations

from plait.compiler.order import Order
from plait.compiler.races.regions import box, shown, subtract
from plait.compiler.round import Access, Axis, Phase, Round
from plait.compiler.rules.rule import Rule
from plait.dsl.diagnostic import Diagnostic, Label

RULE = Rule(
    code="PL301",
    title="a buffer is read before it is written in the round",
    why="""\
Unless a buffer is `carried`, each round begins without its value: what the memory still holds is
left from an earlier round, or from whatever shared the memory. Every entry that is read must have
been written above, in the same round. Write it first, or say `carried` if the value is meant to
live on from the round before.""",
    bad="""\
spec 1
pipeline p {
  stream main
  buffer x : i64[4]
  buffer y : i64[4]
  phase look on main { reads x  writes y }
  phase make on main { writes x }
}
""",
    mended="""\
spec 1
pipeline p {
  stream main
  buffer x : i64[4]
  buffer y : i64[4]
  phase make on main { writes x }
  phase look on main { reads x  writes y }
}
""",
)


MOST_PARTS = 256
"""Pieces that the writes above a read may cut a buffer into before it is given up as unwritten."""


def check(round: Round, found: Order) -> list[Diagnostic]:
    diagnostics = []
    written: dict[int, dict[tuple[Axis, ...] | None, None]] = {}
    for place, item in enumerate(round.items):
        phase = item if isinstance(item, Phase) else None
        if phase is None and (phase := round.rebound_later(place)) is None:
            continue
        if phase is not item:  # waited for here, so what it writes is written
            for access in phase.accesses:
                if access.writes and round.buffers[access.buffer].task:
                    written.setdefault(access.buffer, {})[access.region] = None
            continue
        for access in phase.accesses:
            buffer = round.buffers[access.buffer]
            if not access.reads or access.rounds_back or buffer.carried or buffer.scratch:
                continue
            unwritten = _unwritten(round, access, written.get(access.buffer, {}))
            if unwritten is not None:
                diagnostics.append(_diagnostic(round, phase, access, unwritten))
        for access in phase.accesses:
            if access.writes:
                written.setdefault(access.buffer, {})[access.region] = None
    return diagnostics


def _unwritten(
    round: Round, access: Access, written: dict[tuple[Axis, ...] | None, None]
) -> str | None:
    """The part of an access that nothing has written, as the text would name it, or None."""
    buffer = round.buffers[access.buffer]
    if not written:
        return buffer.name
    if buffer.shape is None or access.region in written:
        return None
    left = [box(access.region, buffer.shape)]
    for region in written:
        left = subtract(left, box(region, buffer.shape))
        if not left:
            return None
        if len(left) > MOST_PARTS:
            return f"one of more than {MOST_PARTS} parts of {buffer.name}"
    return f"{buffer.name}[{shown(left[0])}]"


def _diagnostic(round: Round, phase: Phase, access: Access, part: str) -> Diagnostic:
    buffer = round.buffers[access.buffer]
    below = [
        Label(other.span, f"`{writer.name}` writes it only here")
        for writer in round.phases
        if writer.number > phase.number
        for other in writer.accesses
        if other.buffer == access.buffer and other.writes
    ]
    return Diagnostic(
        RULE.code,
        f"`{phase.name}` reads `{part}`, which nothing above it has written this round",
        access.span,
        labels=tuple(below[:1]),
        facts=(("buffer", buffer.name), ("phase", phase.name)),
        help=f"write it first, or declare `{buffer.name}` carried if it lives on between rounds",
    )
