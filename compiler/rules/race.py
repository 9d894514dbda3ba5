"""Two accesses that meet in memory and that nothing orders."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from plait.compiler.order import Order, order
from plait.compiler.races import mend
from plait.compiler.races.conflicts import Race, Touch, races
from plait.compiler.round import Edge, Round, rounds_before
from plait.compiler.rules.rule import Rule
from plait.dsl.diagnostic import Diagnostic, Label, Overlap

if TYPE_CHECKING:
    from plait.compiler.races.written import Statement

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
  buffer z : i64[4]
  phase make on main { writes x }
  phase look on side { reads x  writes y }
  phase beside on main { reads x  writes z }
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
  buffer z : i64[4]
  phase make on main { writes x }
  fork side from make
  phase look on side { reads x  writes y }
  phase beside on main { reads x  writes z }
  join side into main
}
""",
)

HIDDEN = {"communicator": "communicator", "graphs": "graph_memory"}
"""Modules that have the code and the words of races in memory that the text does not name."""
CODES = (RULE.code, "PL205", "PL206")
"""Those of all findings made here."""
MOST = 100
"""Findings a check reports; each is mended before the next is looked for."""
MOST_ITEMS = 200_000
"""Items of rounds that are ordered anew on the way: in a very large round fewer findings come at once."""


def check(round: Round, found: Order) -> list[Diagnostic]:
    """One finding for every edge that is missing, with all the races that the edge would end."""
    pairs = races(found)
    if not pairs:
        return []
    from plait.compiler.races.written import statements
    from plait.compiler.wiring import missing  # late: a sound round needs neither

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
    met = _met(round, race)
    names = [_name(round, touch) for touch in (earlier, later)]
    streams = [_stream(round, touch) for touch in (earlier, later)]
    one, other = (_where(round, touch) for touch in (earlier, later))
    ago = f" of {rounds_before(race.distance)}" if race.distance else ""
    also = sorted({_met(round, race) for race in ended} - {met})
    missing, fix = statement.text, statement.fix()
    rule, message, help = RULE, _message(race, met, one, other, ago), _help(round, race, met)
    if _in_flight(round, race):  # an edge may name it only once it is awaited
        missing, fix = f"await {names[0]} on {streams[1]}", None
        help = f"issue `{names[1]}` below the await of `{names[0]}`, or await it above; {help}"
        help = help.removesuffix("; ")
    facts = [
        ("buffer", met),
        ("phases", ", ".join(names)),
        ("streams", ", ".join(streams)),
        ("missing edge", missing),
    ]
    if race.hidden:
        facts[0] = ("memory", met)
        facts += [("kept", one.access.argument) for one in (earlier, later) if one.access.argument]
        words = import_module(f"plait.compiler.rules.{HIDDEN[race.hidden.kind]}")
        rule, message, help = words.RULE, words.message(race, one, other, ago), words.HELP
    if also:
        facts.append(("also orders", ", ".join(also)))
    return Diagnostic(
        rule.code,
        message,
        later.access.span,
        label=_does(later, met),
        labels=(Label(earlier.access.span, _does(earlier, met)),),
        witness=_witness(found, race, met),
        facts=tuple(facts),
        help=help,
        fix=fix,
        overlap=Overlap(
            *(earlier.phase.name, later.phase.name, race.distance),
            routes=(round.where,) * (race.distance + 1),
        ),
    )


def _met(round: Round, race: Race) -> str:
    """What two accesses meet in."""
    return race.hidden.words if race.hidden else round.buffers[race.buffer].name


def _in_flight(round: Round, race: Race) -> bool:
    """Whether the later is issued between the launch of the earlier and its await."""
    launch, later = race.earlier.phase, race.later.item
    if not launch.launched or race.distance or later < race.earlier.item:
        return False
    between = round.items[race.earlier.item : later]
    ends = (one for one in between if isinstance(one, Edge) and one.word == "await")
    return all(round.origin(one.source) != launch.stream for one in ends)


def _replays(touch: Touch) -> bool:
    """Whether a whole replay does it, and no phase of its own."""
    return touch.hidden is not None and touch.hidden.kind == "graphs" and touch.access.writes


def _name(round: Round, touch: Touch) -> str:
    capture = touch.phase.capture
    if capture is None or not _replays(touch):
        return touch.phase.name
    return round.captures[capture].name


def _where(round: Round, touch: Touch) -> str:
    how = "launched on" if touch.phase.launched and not _replays(touch) else "on"
    return f"`{_name(round, touch)}` {how} {_stream(round, touch)}"


def _stream(round: Round, touch: Touch) -> str:
    capture = touch.phase.capture
    if touch.queue:
        return touch.queue
    if capture is None or not _replays(touch):
        return round.stream_name(round.issuer(touch.phase.stream))
    return round.stream_name(round.captures[capture].stream)


def _does(touch: Touch, met: str) -> str:
    if touch.hidden is None:
        return f"{touch.access.kind} {met}"
    if touch.hidden.kind == "communicator":
        return f"uses {met}"
    return f"overwrites {met}" if touch.access.writes else f"reads {touch.access.argument}"


def _message(race: Race, buffer: str, one: str, other: str, ago: str) -> str:
    if not race.later.access.writes:
        return f"{other} may read `{buffer}` before {one}{ago} has written it"
    if not race.earlier.access.writes:
        return f"{other} may overwrite `{buffer}` while {one}{ago} still reads it"
    return f"{other} may write `{buffer}` before {one}{ago} has"


def _witness(found: Order, race: Race, met: str) -> tuple[str, ...]:
    """A run that shows it: what the later may begin after, and the earlier still running."""
    round, earlier, later = found.round, race.earlier, race.later
    one, other = (_name(round, touch) for touch in (earlier, later))
    queue = found.queue_name(earlier.end.coordinate)
    running = f"`{one}` comes later on {queue} and may still be running"
    if found.coordinates[earlier.end.coordinate][1] != round.issuer(earlier.phase.stream):
        queue, running = f"`{one}`", f"{_where(round, earlier)} may still be in flight"
    index = later.begin[earlier.end.coordinate]
    behind = f"without waiting for {queue}"
    if index:
        newest = found.queues[earlier.end.coordinate][index - 1]
        in_round = _round(newest.round - earlier.round)
        on = "" if queue == f"`{one}`" else f" on {queue}"
        behind = f"once `{round.item_name(newest.item)}` of round {in_round} has ended{on}"
    who, verb = _stream(round, later), "start"
    if later.from_issue:
        who, verb = "the host", "issue"
    return (
        f"round {_round(race.distance)}: {who} may {verb} `{other}` {behind}",
        f"round r: {running}",
        f"`{one}` {_does(earlier, met)}, `{other}` {_does(later, met if race.hidden else 'it')}",
    )


def _round(distance: int) -> str:
    return "r" if distance == 0 else f"r {'+' if distance > 0 else '-'} {abs(distance)}"


def _help(round: Round, race: Race, buffer: str) -> str:
    earlier, said = race.earlier, []
    if race.hidden is None and round.buffers[race.buffer].scratch:
        return "or give one of the two a scratch of its own"
    if earlier.phase.capture is not None and not (earlier.loads or earlier.within):
        graph = round.captures[earlier.phase.capture].name
        if race.distance == 0 and not earlier.access.writes:
            said.append(f"`{graph}` reads `{buffer}` where it lies until it ends, loaded or not")
    if race.distance and not earlier.access.writes:
        said.append(f"or let rounds take turns, with more `copies` of `{buffer}`")
    return "; ".join(said)
