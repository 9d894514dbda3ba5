"""Two accesses that meet in memory and that nothing orders."""

from __future__ import annotations

from typing import TYPE_CHECKING

from plait.compiler import mend
from plait.compiler.conflicts import Race, races
from plait.compiler.order import Order, order
from plait.compiler.round import Round
from plait.compiler.rules.rule import Rule
from plait.dsl.diagnostic import Diagnostic, Label

if TYPE_CHECKING:
    from plait.compiler.written import Statement

RULE = Rule(
    code="PL201",
    title="two accesses to one buffer have no order",
    why="""\
Issue order gives two streams no order: the second stream may run ahead of the first, so a reader
may see a value that is not written yet, or a writer may overwrite one that is still read. Nothing
fails; the tokens are wrong. The message names both phases, the buffer and the edge that is missing.
Write the edge, or, where the two belong to different rounds, give the buffer `copies`.""",
    bad="""\
spec 1
pipeline p {
  stream main
  stream side
  buffer x : i64[4]
  buffer y : i64[4]
  phase make on main { writes x }
  phase look on side { reads x  writes y }
  join side into main
}
""",
    mended="""\
spec 1
pipeline p {
  stream main
  stream side
  buffer x : i64[4]
  buffer y : i64[4]
  phase make on main { writes x }
  fork side from make
  phase look on side { reads x  writes y }
  join side into main
}
""",
)

MOST = 100
"""Findings a check reports; each is mended before the next is looked for."""
MOST_ITEMS = 200_000
"""Items of rounds that are ordered anew on the way: in a very large round fewer findings come at once."""


def check(round: Round, found: Order) -> list[Diagnostic]:
    """One finding for every edge that is missing, with all the races that the edge would end."""
    pairs = races(found)
    if not pairs:
        return []
    from plait.compiler.wiring import missing  # late: a sound round needs neither
    from plait.compiler.written import statements

    nearest = {_key(race): race for race in reversed(pairs)}
    needed = [nearest.get(_key(race), race) for race in missing(found)]
    needed.sort(key=lambda one: (one.distance, one.later.item, -one.earlier.item))
    diagnostics: list[Diagnostic] = []
    added: list[mend.Mend] = []
    items = 0
    for statement in statements(round, needed)[:MOST]:
        ended: list[Race] = []
        added += statement.mends
        items += len(round.items) * found.rounds
        if items < MOST_ITEMS:
            left = races(order(mend.applied(round, added), found.rounds))
            keys = {_key(race) for race in left}
            ended = [race for race in pairs if _key(race) not in keys]
            pairs = left
        diagnostics.append(_diagnostic(found, statement, ended))
    return diagnostics


def _key(race: Race) -> tuple[int, int, int]:
    return race.earlier.phase.number, race.later.phase.number, race.buffer


def _diagnostic(found: Order, statement: Statement, ended: list[Race]) -> Diagnostic:
    round, race = found.round, statement.races[0]
    earlier, later = race.earlier, race.later
    buffer = round.buffers[race.buffer].name
    phases = [touch.phase.name for touch in (earlier, later)]
    streams = [round.stream_name(touch.phase.stream) for touch in (earlier, later)]
    one, other = (f"`{phase}` on {stream}" for phase, stream in zip(phases, streams, strict=True))
    also = sorted({round.buffers[race.buffer].name for race in ended} - {buffer})
    facts = [
        ("buffer", buffer),
        ("phases", ", ".join(phases)),
        ("streams", ", ".join(streams)),
        ("missing edge", statement.text),
    ]
    if also:
        facts.append(("also orders", ", ".join(also)))
    return Diagnostic(
        RULE.code,
        _message(race, buffer, one, other),
        later.access.span,
        label=f"{later.access.kind} {buffer}",
        labels=(Label(earlier.access.span, f"{earlier.access.kind} {buffer}"),),
        witness=_witness(found, race, buffer),
        facts=tuple(facts),
        help=_help(race, buffer),
        fix=statement.fix(),
    )


def _message(race: Race, buffer: str, one: str, other: str) -> str:
    ago = {0: "", 1: " of the round before"}.get(
        race.distance, f" of {race.distance} rounds before"
    )
    if not race.later.access.writes:
        return f"{other} may read `{buffer}` before {one}{ago} has written it"
    if not race.earlier.access.writes:
        return f"{other} may overwrite `{buffer}` while {one}{ago} still reads it"
    return f"{other} may write `{buffer}` before {one}{ago} has"


def _witness(found: Order, race: Race, buffer: str) -> tuple[str, ...]:
    """A run that shows it: what the later may begin after, and the earlier still running."""
    round, earlier, later = found.round, race.earlier, race.later
    queue = found.queue_name(earlier.end.coordinate)
    index = later.begin[earlier.end.coordinate]
    behind = f"without waiting for {queue}"
    if index:
        newest = found.queues[earlier.end.coordinate][index - 1]
        in_round = _round(newest.round - earlier.round)
        behind = f"once `{round.item_name(newest.item)}` of round {in_round} has ended on {queue}"
    who, verb = round.stream_name(later.phase.stream), "start"
    if later.from_issue:
        who, verb = "the host", "issue"
    return (
        f"round {_round(race.distance)}: {who} may {verb} `{later.phase.name}` {behind}",
        f"round r: `{earlier.phase.name}` comes later on {queue} and may still be running",
        f"`{earlier.phase.name}` {earlier.access.kind} {buffer}, "
        f"`{later.phase.name}` {later.access.kind} it",
    )


def _round(distance: int) -> str:
    return "r" if distance == 0 else f"r {'+' if distance > 0 else '-'} {abs(distance)}"


def _help(race: Race, buffer: str) -> str:
    if race.distance and not race.earlier.access.writes:
        return f"or let rounds take turns, with more `copies` of `{buffer}`"
    return ""
