"""Two accesses that meet when rounds of different routes follow each other, and that nothing orders."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import reduce
from operator import and_

from plait.compiler.order import Order
from plait.compiler.races.conflicts import Touch, regions_meet, touches, vouched
from plait.compiler.round import Round, prev, rounds_before
from plait.compiler.rules.rule import Rule
from plait.compiler.summary import Summary, coordinates_of, summary
from plait.dsl.diagnostic import Diagnostic, Fix, Label, Overlap
from plait.dsl.span import Span

RULE = Rule(
    code="PL203",
    title="two accesses of different routes have no order",
    why="""\
A bucket, a run-time param and a guard choose a route for each round, and rounds of different routes
share their streams and their buffers. A pair that is ordered while one route repeats may have no order
when another comes in between: the edge that orders it is not there, or the rows that meet are others.
The message gives the routes in the order in which they show it. Write the edge on every route, or, where
the two belong to different rounds, give the buffer `copies`.""",
    bad="""\
spec 1
pipeline p {
  dim bs in [1, 2]
  stream main
  stream side
  buffer x : i64[2] carried
  buffer y : i64[2]
  buffer z : i64[4] carried
  phase change on main { updates x[bs - 1] }
  fork side from change
  phase look on side { reads x[2 - bs]  writes y }
  phase beside on main { updates z }
  join prev look into host
}
""",
    mended="""\
spec 1
pipeline p {
  dim bs in [1, 2]
  stream main
  stream side
  buffer x : i64[2] carried
  buffer y : i64[2]
  buffer z : i64[4] carried
  phase change on main { updates x[bs - 1] }
  fork side from change
  phase look on side { reads x[2 - bs]  writes y }
  phase beside on main { updates z }
  join side into main
}
""",
)

MOST = 20
"""Findings: the first ones, by distance and text."""


@dataclass(frozen=True, eq=False)
class _Part:
    """A route, with the touches of one round of it, by the name of the buffer; of equal ones, one."""

    round: Round
    summary: Summary
    ends: dict[str, list[tuple[int, Touch]]]
    """Each with the coordinates that come after it."""
    begins: dict[str, list[tuple[int, Touch]]]
    """Each with the coordinates that it comes after."""


def check(orders: list[Order]) -> list[Diagnostic]:
    """Compares every route with every other: what one leaves known is carried through those between."""
    parts = parts_of(orders)
    where = homes(part.round for part in parts)
    found: dict[tuple, Diagnostic] = {}
    for first in parts:
        for name, earlier, later, last, way in races(first, parts):
            key = (earlier.access.span, later.access.span, name)
            if key not in found and len(found) < MOST:
                found[key] = _diagnostic(first, earlier, last, later, way, name, where)
    return list(found.values())


def homes(rounds: Iterable[Round]) -> dict[str, dict[str, Span]]:
    """The streams that a point is on, over all routes, by its name."""
    found: dict[str, dict[str, Span]] = {}
    for round in rounds:
        for phase in round.phases:
            stream = phase.stream
            if phase.capture is not None:  # seen from outside it is its graph
                stream = round.captures[phase.capture].stream
            found.setdefault(round.outside(phase), {}).setdefault(
                round.stream_name(stream), phase.span
            )
    return found


def _by_issue(touch: Touch) -> bool:
    return touch.from_issue


def parts_of(orders: list[Order], at_issue: Callable[[Touch], bool] = _by_issue) -> list[_Part]:
    """The routes that meet differently, if any do. `at_issue`: what begins as it is issued."""
    different = list({order.round.meeting: order for order in orders}.values())
    if len(different) < 2:
        return []
    coordinates = coordinates_of(order.round for order in different)
    return [_part(order, summary(order.round, coordinates), at_issue) for order in different]


def _part(order: Order, found: Summary, at_issue: Callable[[Touch], bool]) -> _Part:
    ends: dict[tuple, Touch] = {}
    begins: dict[tuple, Touch] = {}
    for touch in touches(order, [order.rounds - 1]):
        access = touch.access
        name = _name(order.round, touch)
        what = (access.writes, access.region, access.rounds_back, touch.queue)
        early = at_issue(touch)
        known = found.issued if early else found.knows
        ends.setdefault((name, found.left[touch.end.item], (what, early)), touch)
        begins.setdefault((name, known[touch.since], (what, early)), touch)
    return _Part(order.round, found, _by_name(ends), _by_name(begins))


def _name(round: Round, touch: Touch) -> str:
    return touch.hidden.words if touch.hidden else round.buffers[touch.access.buffer].name


def _by_name(touches: dict[tuple, Touch]) -> dict[str, list[tuple[int, Touch]]]:
    found: dict[str, list[tuple[int, Touch]]] = {}
    for (name, mask, _), touch in touches.items():
        found.setdefault(name, []).append((mask, touch))
    return found


_Way = tuple[_Part, ...]
"""The routes between the two."""


def races(first: _Part, parts: list[_Part]) -> Iterator[tuple[str, Touch, Touch, _Part, _Way]]:
    """Every race that begins in a round of that route, the nearest rounds first."""
    copies = max(buffer.copies for part in parts for buffer in part.round.buffers)
    backs = [t.access.rounds_back for part in parts for ts in part.ends.values() for _, t in ts]
    levels: dict[int, dict[int, _Way]] = {}
    for distance in range(1, copies + max(backs, default=0) + 1):
        for name, ours in first.ends.items():
            one = ours[0][1]
            turns = 1 if one.hidden else first.round.buffers[one.access.buffer].copies
            for left_known, earlier in ours:
                level = levels.setdefault(left_known, {left_known: ()})
                always = reduce(and_, level)
                for last in parts:
                    for known, later in last.begins.get(name, ()):
                        if known & always:  # whatever way is taken
                            continue
                        way = next((w for left, w in level.items() if not known & left), None)
                        if way is not None and _meet(first.round, earlier, later, distance, turns):
                            yield name, earlier, later, last, way
        levels = {mask: _next(level, parts) for mask, level in levels.items()}


def _next(level: dict[int, _Way], parts: list[_Part]) -> dict[int, _Way]:
    """What may be known of the same touch after one more round, of any route."""
    found: dict[int, _Way] = {}
    for mask, way in level.items():
        for part in parts:
            found.setdefault(part.summary.after(mask), (*way, part))
    return found


def _meet(round: Round, earlier: Touch, later: Touch, distance: int, copies: int) -> bool:
    a, b = earlier.access, later.access
    if earlier.hidden:
        return (a.writes or b.writes) and earlier.meets_hidden(later)
    if not (a.writes or b.writes) or (distance - b.rounds_back + a.rounds_back) % copies:
        return False
    if not regions_meet(a.region, b.region):
        return False
    number = a.buffer  # of the first route; the other's may differ
    return not vouched(round, (number, a.region), (number, b.region))


def _diagnostic(
    first: _Part,
    earlier: Touch,
    last: _Part,
    later: Touch,
    way: _Way,
    buffer: str,
    where: dict[str, dict[str, Span]],
) -> Diagnostic:
    one, other = earlier.phase, later.phase
    streams = [
        part.round.stream_name(part.round.issuer(phase.stream))
        for part, phase in ((first, one), (last, other))
    ]
    routes = [part.round for part in (first, *way, last)]
    rounds = len(routes) - 1
    into = "host" if later.from_issue else streams[1]
    edge = f"join {prev(rounds)}{one.name} into {into}"
    ago = rounds_before(rounds)
    moves = " or on ".join(where.get(one.name, ()))
    or_copies = "" if later.hidden else ", or give the buffer `copies`"
    help = f"write the edge on every route{or_copies}"
    if " or " in moves:
        help = (
            f"`{one.name}` is on {moves}, by route, so no `prev {one.name}` waits for all of it:"
            " keep it on one stream, or wait for a point after it that is on one"
        )
    return Diagnostic(
        RULE.code,
        f"`{other.name}` on {streams[1]} and `{one.name}` on {streams[0]} of {ago} have no order"
        f" when the route changes",
        later.access.span,
        label=f"{later.access.kind} {buffer}",
        labels=(Label(earlier.access.span, f"{earlier.access.kind} {buffer}"),),
        facts=(
            ("buffer", buffer),
            ("phases", f"{one.name}, {other.name}"),
            ("streams", ", ".join(streams)),
            ("routes", "; then ".join(round.answers for round in routes)),
            ("missing edge", edge),
        ),
        help=help,
        fix=None
        if " or " in moves
        else Fix(f"before line {later.phase.statement.line}, write: {edge}"),
        overlap=Overlap(one.name, other.name, rounds, tuple(round.where for round in routes)),
    )
