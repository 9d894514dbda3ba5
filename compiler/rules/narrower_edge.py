"""An edge from all that a stream was issued, where a phase of it is all that data needs.

It is said only where the narrower edge is right on every route and orders less on some. Judging an edge
proves the rounds again; that goes through at most MOST_ITEMS items of rounds, and edges beyond are not
judged: a bound, where only silence is lost.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from plait.compiler.order import Order, order
from plait.compiler.races.block import end_of_block
from plait.compiler.round import HOST, Edge, Item, Phase, Round, Source
from plait.compiler.rules import switch
from plait.compiler.rules.rule import Rule
from plait.compiler.rules.unneeded_edge import sound
from plait.compiler.target import Target
from plait.dsl.diagnostic import Diagnostic, Edit, Fix
from plait.dsl.span import Span

RULE = Rule(
    code="PL906",
    title="an edge orders more than data needs",
    why="""\
The edge waits for all that its stream was issued, and all that must be in order still is where it waits
only for an earlier phase of it. What the stream does after that phase could run beside what waits. Name the
phase, as the message says, or `plait check --fix --waste` does; where the wider edge is meant, say so:
`# allow PL906: REASON`. Edges in loops, modules, captures and into the host are not judged, nor those in
very large rounds.""",
    bad="""\
spec 1
pipeline p {
  stream main
  stream side
  buffer x : i64[4]
  buffer y : i64[4]
  buffer z : i64[4]
  phase make on main { writes x }
  phase next on main { writes z }
  fork side from main
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
  buffer z : i64[4]
  phase make on main { writes x }
  phase next on main { writes z }
  fork side from make
  phase look on side { reads x  writes y }
  join side into main
}
""",
)

MOST_ITEMS = 100_000


def check(orders: list[Order], target: Target) -> list[Diagnostic]:
    """Each edge by itself, and the earliest phase that will do."""
    found = list({one.round.meeting: one for one in orders}.values())
    items = 0
    diagnostics = []
    for span in sorted(_frontiers(found), key=lambda span: span.start):
        for name in _phases(found, span):
            items += sum(len(one.round.items) * one.rounds for one in found)
            if items > MOST_ITEMS:
                return diagnostics
            narrowed = [_narrowed(one.round, span, name) for one in found]
            if _right(found, narrowed, target):
                if any(map(_orders_less, narrowed, found)):
                    diagnostics.append(_diagnostic(found, span, name))
                break
    return diagnostics


def _frontiers(found: list[Order]) -> set[Span]:
    """Edges that wait for all that a stream was issued, of statements that stand for one edge a round."""
    spans: dict[Span, int] = {}
    for one in found:
        own: dict[Span, int] = {}
        for edge in one.round.edges:
            plain = edge.source.kind == "stream" and edge.word in ("fork", "join")
            free = plain and edge.capture is None and HOST not in (edge.target, edge.source.number)
            own[edge.span] = own.get(edge.span, 0) + (1 if free else 2)
        spans |= {span: max(count, spans.get(span, 0)) for span, count in own.items()}
    return {span for span, count in spans.items() if count == 1}


def _phases(found: list[Order], span: Span) -> Iterator[str]:
    """Names of phases that every round with the edge has above it on its stream, the earliest first; not
    the last, which is what the edge waits for as it is."""
    known: list[list[str]] = []
    for one in found:
        place = next((n for n, i in enumerate(one.round.items) if _is(i, span)), None)
        if place is not None:
            edge = one.round.items[place]
            assert isinstance(edge, Edge)
            above = one.round.items[:place]
            known.append(_named(above, edge.source.number, span))
    for name in known[0][:-1] if known else ():
        if all(name in names for names in known):
            yield name


def _is(item: object, span: Span) -> bool:
    return isinstance(item, Edge) and item.span == span


def _named(items: tuple[Item, ...], stream: int, edge: Span) -> list[str]:
    """The phases of a stream that an edge there may name."""
    return [
        item.name
        for item in items
        if isinstance(item, Phase)
        and (item.stream, item.capture, item.launched) == (stream, None, False)
        and item.name.isidentifier()
        and _seen(item.statement, edge)
    ]


def _seen(statement: Span, edge: Span) -> bool:
    """Whether the block of the statement holds the edge."""
    if statement.source is not edge.source or statement.end > edge.start:
        return False
    return edge.end <= end_of_block(edge.source, statement.end)


def _narrowed(round: Round, span: Span, name: str) -> Order:
    number = next((phase.number for phase in round.phases if phase.name == name), None)
    items: list[Item] = []
    for item in round.items:
        if isinstance(item, Edge) and item.span == span and number is not None:
            item = item.replace(source=Source("phase", number))
        items.append(item)
    return order(replace(round, items=tuple(items)))


def _right(found: list[Order], narrowed: list[Order], target: Target) -> bool:
    for one, less in zip(found, narrowed, strict=True):
        if not sound(one.round, less, target):
            return False
    return len(found) == 1 or not switch.check(narrowed)


def _orders_less(narrowed: Order, found: Order) -> bool:
    """Whether something comes after less than it did, once rounds repeat."""
    last = min(narrowed.rounds, found.rounds) - 1
    return any(
        narrowed.at(last, place).known != moment.known
        for place, moment in found.moments[last].items()
    )


def _diagnostic(found: list[Order], span: Span, name: str) -> Diagnostic:
    edges = ((one.round, edge) for one in found for edge in one.round.edges if edge.span == span)
    round, edge = next(edges)
    stream, target = round.stream_name(edge.source.number), round.stream_name(edge.target)
    text = f"fork {target} from {name}" if edge.word == "fork" else f"join {name} into {target}"
    return Diagnostic(
        RULE.code,
        f"`{round.edge_text(edge)}` waits for all of {stream}, and data needs only `{name}`",
        span,
        RULE.severity,
        facts=(("edge", round.edge_text(edge)), ("narrower edge", text)),
        help=f"or say why it stands: `# allow {RULE.code}: REASON`",
        fix=Fix(f"write `{text}`", (Edit(span, text),)),
    )
