"""A fork beside which nothing runs: the branch could as well run where it was forked."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable

from plait.compiler.order import Moment, Order
from plait.compiler.round import HOST, Close, Edge, Open, Phase, Round
from plait.compiler.rules.rule import Rule
from plait.dsl.diagnostic import Diagnostic
from plait.dsl.span import Span

RULE = Rule(
    code="PL903",
    title="a fork hides nothing",
    why="""\
A branch is forked so that something runs beside it. Where every step of the other device streams is over
before the branch begins, or waits for its end, in every variant and on every route, the fork and its
join cost two waits a round and hide nothing. Let work run beside it (a join further down, a fork further
up), or write the phases on the stream they are forked from.""",
    bad="""\
spec 1
pipeline p {
  stream main
  stream side
  buffer x : i64[4] carried
  buffer y : i64[4]
  phase make on main { updates x }
  fork side from make
  phase look on side { reads x  writes y }
  join side into main
  phase last on main { reads y  updates x }
}
""",
    mended="""\
spec 1
pipeline p {
  stream main
  stream side
  buffer x : i64[4] carried
  buffer y : i64[4]
  buffer z : i64[4]
  phase make on main { updates x }
  fork side from make
  phase look on side { reads x  writes y }
  phase beside on main { reads x  writes z }
  join side into main
  phase last on main { reads y, z  updates x }
}
""",
)


def check(orders: list[Order]) -> list[Diagnostic]:
    """The forks that start something, and beside which nothing runs wherever they do."""
    hides: set[Span] = set()
    nothing: dict[Span, tuple[Order, Edge, list[int]]] = {}
    for found in {one.round.structure: one for one in orders}.values():
        for edge, own in _forks(found.round):
            if edge.span in hides or not own:
                continue
            if any(_beside(found, place) for place in own):
                hides.add(edge.span)
                nothing.pop(edge.span, None)
            else:
                nothing.setdefault(edge.span, (found, edge, own))
    return [_diagnostic(*one) for one in nothing.values()]


def _forks(round: Round) -> list[tuple[Edge, list[int]]]:
    """Every fork from another stream, with the places of the steps up to the next fork into its stream."""
    found: list[tuple[Edge, list[int]]] = []
    current: dict[tuple[int | None, int], list[int]] = {}
    for place, item in enumerate(round.items):
        if isinstance(item, Edge) and item.word == "fork":
            if item.target not in (HOST, round.origin(item.source)):
                own = current[item.capture, item.target] = []
                found.append((item, own))
        elif isinstance(item, Phase):
            current.get((item.capture, item.stream), []).append(place)
        elif isinstance(item, Open | Close):
            current.get((None, round.captures[item.capture].stream), []).append(place)
    return found


def _beside(found: Order, place: int) -> bool:
    """Whether some step of another device queue has no order with that one, in some round."""
    graph = _graph(found.round, place)
    among = _queues(found, graph)
    for moments in found.moments:
        own = moments[place]
        for coordinate in among:
            if coordinate in (HOST, own.coordinate):
                continue
            queue = found.queues[coordinate]
            first = own.known[coordinate]  # those before are over when it begins
            if first == len(queue) or queue[first].after(own):
                continue
            if graph is None:
                return True
            last = _first_after(queue, own)
            if any(_graph(found.round, one.item) == graph for one in queue[first:last]):
                return True
    return False


def _queues(found: Order, graph: int | None) -> Iterable[int]:
    """Those that something runs on beside a step of a graph, or beside one of none."""
    if graph is None:
        return range(len(found.queues))
    places = found.round.inside[graph]
    return sorted({found.at(0, place).coordinate for place in places})


def _first_after(queue: list[Moment], own: Moment) -> int:
    """Up to which moment of a queue nothing knows of that one's end."""
    return bisect_left(queue, own.index, key=lambda one: one.known[own.coordinate])


def _graph(round: Round, place: int) -> int | None:
    item = round.items[place]
    return item.capture if isinstance(item, Phase) else None


def _diagnostic(found: Order, edge: Edge, own: list[int]) -> Diagnostic:
    round = found.round
    names = ", ".join(f"`{round.item_name(place)}`" for place in own[:3])
    names += f" and {len(own) - 3} more" if len(own) > 3 else ""
    return Diagnostic(
        RULE.code,
        f"nothing runs beside what `{round.edge_text(edge)}` starts: {names}",
        edge.span,
        RULE.severity,
        facts=(("edge", round.edge_text(edge)), ("stream", round.stream_name(edge.target))),
        help="move its join down or its fork up, or write the phases on the stream it is forked from;"
        f" or say why it stands: `# allow {RULE.code}: REASON`",
    )
