"""A wait for an earlier round at a point that is on one stream or another, by route."""

from __future__ import annotations

from dataclasses import replace

from plait.compiler.order import Order, order
from plait.compiler.round import Close, Edge, Phase, Round, Source
from plait.compiler.rules import switch
from plait.compiler.rules.rule import Rule
from plait.compiler.target import Target
from plait.dsl.diagnostic import Diagnostic, Edit, Fix, Label
from plait.dsl.span import Span

RULE = Rule(
    code="PL406",
    title="a point of an earlier round changes its stream with the route",
    why="""\
`prev` waits for the newest record of a point, and each stream keeps its own. Where routes have the point
on different streams, a round of one route waits on its own stream for a record that the round before
made on another, and so for nothing. Keep the point on one stream, or name a point below it that is on
one stream whatever the route.""",
    bad="""\
spec 1
pipeline p {
  dim bs in [1, 2]
  stream main
  stream other
  stream side = main if bs > 1 else other
  buffer x : i64[4] carried
  buffer y : i64[4] carried
  buffer h : i64[4] on host copies 2
  fork side from main
  phase look on side { updates x  writes h }
  phase beside on main { updates y }
  join side into main
  phase last on main { updates y }
  join prev look into host
  phase take on host { reads prev h }
}
""",
    mended="""\
spec 1
pipeline p {
  dim bs in [1, 2]
  stream main
  stream other
  stream side = main if bs > 1 else other
  buffer x : i64[4] carried
  buffer y : i64[4] carried
  buffer h : i64[4] on host copies 2
  fork side from main
  phase look on side { updates x  writes h }
  phase beside on main { updates y }
  join side into main
  phase last on main { updates y }
  join prev last into host
  phase take on host { reads prev h }
}
""",
)


def check(orders: list[Order], target: Target) -> list[Diagnostic]:
    """Only where that leaves a pair without an order: the wait may be for what another edge gives, too."""
    different = list({one.round.meeting: one for one in orders}.values())
    homes = switch.homes(one.round for one in different)
    moving: dict[str, tuple[Order, Edge]] = {}
    for found in different:
        for edge in found.round.edges:
            source = edge.source
            name = found.round.source_name(source.replace(rounds_back=0))
            if source.rounds_back and len(homes.get(name, ())) > 1:
                moving.setdefault(_as_join(found.round, edge), (found, edge))
    if not moving:
        return []
    missing = {dict(one.facts)["missing edge"] for one in switch.check(different)}
    return [
        _diagnostic(different, found, edge, text, homes)
        for text, (found, edge) in moving.items()
        if text in missing
    ]


def _as_join(round: Round, edge: Edge) -> str:
    """An edge in the words in which a rule says that one is missing."""
    return round.edge_text(edge.replace(word="join"))


def _diagnostic(
    orders: list[Order], found: Order, edge: Edge, text: str, homes: dict[str, dict[str, Span]]
) -> Diagnostic:
    round = found.round
    point = round.source_name(edge.source.replace(rounds_back=0))
    streams = list(homes[point])
    fixed = _mend(orders, edge, text)
    help = f"keep `{point}` on one stream, or name a point after it that is on one"
    return Diagnostic(
        RULE.code,
        f"`{round.edge_text(edge)}` waits on one stream only, and `{point}` is on "
        + " or on ".join(streams)
        + ", by route",
        edge.span,
        labels=(Label(homes[point][streams[0]], f"`{point}`"),),
        facts=(("point", point), ("streams", ", ".join(streams)), ("edge", text)),
        help="" if fixed else help,
        fix=fixed,
    )


def _mend(orders: list[Order], edge: Edge, text: str) -> Fix | None:
    """The same edge from the first point that is after it, on one stream, on every route: if that does."""
    for name in _after(orders, edge):
        mended = [order(_renamed(one.round, edge, name)) for one in orders]
        if text not in {dict(one.facts)["missing edge"] for one in switch.check(mended)}:
            break
    else:
        return None
    round = orders[0].round
    old = round.source_name(edge.source)
    new = old.removesuffix(round.source_name(edge.source.replace(rounds_back=0))) + name
    title = f"name `{new}` in place of `{old}`"
    at = edge.span.text.find(old)
    if at < 0 or edge.span.text.count(old) > 1:
        return Fix(title)
    start = edge.span.start + at
    return Fix(title, (Edit(Span(edge.span.source, start, start + len(old)), new),))


MOST_TRIES = 8
"""Points that are tried in place of the one that moves."""


def _after(orders: list[Order], edge: Edge) -> list[str]:
    """Points that stay, and that come after the one that moves wherever it is, in the order of the text."""
    left: dict[str, str] | None = None
    point = orders[0].round.source_name(edge.source.replace(rounds_back=0))
    for found in orders:
        points = _points(found.round)
        if point not in points:
            continue
        last = found.rounds - 1
        moved = found.at(last, points[point][0])
        later = {
            name: stream
            for name, (place, stream) in points.items()
            if name != point and found.at(last, place).after(moved)
        }
        left = {n: s for n, s in (left or later).items() if later.get(n) == s}
    return list(left or ())[:MOST_TRIES]


def _points(round: Round) -> dict[str, tuple[int, str]]:
    """Of every point that can be seen from outside graphs, its item and stream."""
    found: dict[str, tuple[int, str]] = {}
    for place, item in enumerate(round.items):
        if isinstance(item, Phase) and item.capture is None:
            found[item.name] = place, round.stream_name(item.stream)
        elif isinstance(item, Close):
            capture = round.captures[item.capture]
            found[capture.name] = place, round.stream_name(capture.stream)
    return found


def _renamed(round: Round, edge: Edge, name: str) -> Round:
    points = _points(round)
    if name not in points:
        return round
    item = round.items[points[name][0]]
    if isinstance(item, Phase):
        source = Source("phase", item.number, edge.source.rounds_back)
    else:
        assert isinstance(item, Close)
        source = Source("capture", item.capture, edge.source.rounds_back)
    items = tuple(
        one.replace(source=source) if isinstance(one, Edge) and one.span == edge.span else one
        for one in round.items
    )
    return replace(round, items=items)
