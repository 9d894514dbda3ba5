"""`prev x` where a round of some route leaves nothing there."""

from __future__ import annotations

from plait.compiler.order import Order
from plait.compiler.races.regions import Box, box, shown, subtract
from plait.compiler.round import Access, Axis, Phase, Round
from plait.compiler.rules.rule import Rule
from plait.compiler.target import Target
from plait.dsl.diagnostic import Diagnostic, Label

RULE = Rule(
    code="PL304",
    title="a value of an earlier round is read that not every route writes",
    why="""\
Rounds take turns at the copies of a buffer, whether they write it or not. After a round of a route that
leaves it out, or a part of it, `prev` finds what the copy held before: a value of some older round, or of
none. Nothing waits for the wrong thing, so no edge helps. Write it on every route, or say `carried` if
each copy is meant to keep what it has until it is written again.""",
    bad="""\
spec 1
pipeline p {
  guard drafted
  stream main
  buffer x : i64[4] carried
  buffer taken : i64[4] copies 2
  when drafted {
    phase draft on main { updates x  writes taken }
    phase look on main { reads prev taken  updates x }
  } else {
    phase step on main { updates x }
  }
}
""",
    mended="""\
spec 1
pipeline p {
  guard drafted
  stream main
  buffer x : i64[4] carried
  buffer taken : i64[4] copies 2
  when drafted {
    phase draft on main { updates x  writes taken }
    phase look on main { reads prev taken  updates x }
  } else {
    phase step on main { updates x  writes taken }
  }
}
""",
)

MOST_PARTS = 256
"""Pieces that the writes of a round may cut what is read into; beyond them nobody looks closer."""


def check(orders: list[Order], target: Target) -> list[Diagnostic]:
    """Each read with the first route that leaves nothing there; a part is missed at equal sizes only.

    A dim sizes rows of requests: those of a round with fewer are nobody's, whatever reads them.
    """
    rounds = list({_said(order.round): order.round for order in orders}.values())
    found: dict[tuple, Diagnostic] = {}
    for round in rounds:
        for phase in round.phases:
            for access in phase.accesses:
                key = (access.span, phase.base)
                if not access.rounds_back or key in found or round.buffers[access.buffer].carried:
                    continue
                for other in rounds:
                    if (part := _missing(round, access, other)) is not None:
                        found[key] = _diagnostic(round, phase, access, other, part)
                        break
    return list(found.values())


def _said(round: Round) -> tuple:
    """What decides it: two rounds that are equal in this leave the same."""
    regions = tuple(tuple(access.region for access in phase.accesses) for phase in round.phases)
    return round.structure, regions, tuple(buffer.shape for buffer in round.buffers)


def _missing(round: Round, access: Access, other: Round) -> str | None:
    """The part of a read that a round of another route, or of its own, leaves unwritten."""
    buffer = round.buffers[access.buffer]
    of_other = next((one for one in other.buffers if one.name == buffer.name), None)
    written = _written(other, buffer.name)
    if of_other is None or not written:
        return buffer.name
    if buffer.shape is None or of_other.shape is None or round.sizes != other.sizes:
        return None
    # All of it is all that the round which wrote it has; a part is named by what this round knows.
    shape = of_other.shape if access.region is None else buffer.shape
    left: list[Box] = [box(access.region, shape)]
    for region in written:
        left = subtract(left, box(region, of_other.shape))
        if len(left) > MOST_PARTS:
            return None
    return f"{buffer.name}[{shown(left[0])}]" if left else None


def _written(round: Round, name: str) -> list[tuple[Axis, ...] | None]:
    """The regions of a buffer that a round writes."""
    return [
        access.region
        for phase in round.phases
        for access in phase.accesses
        if access.writes and round.buffers[access.buffer].name == name
    ]


def _diagnostic(round: Round, phase: Phase, access: Access, other: Round, part: str) -> Diagnostic:
    buffer = round.buffers[access.buffer]
    same = round is other
    after = "and no round writes that" if same else f"which a round{other.where} does not write"
    return Diagnostic(
        RULE.code,
        f"`{phase.name}` reads `{part}` of an earlier round{'' if same else round.where}, {after}",
        access.span,
        labels=(Label(buffer.span, f"`{buffer.name}` has what an older round left there"),),
        facts=(("buffer", buffer.name), ("phase", phase.name), ("copies", str(buffer.copies))),
        help="write it on every route, or read only what every route writes",
    )
