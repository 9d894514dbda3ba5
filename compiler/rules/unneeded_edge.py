"""An edge that no data needs: without it everything that must be in order still is.

It is judged once no rule finds an error, over every variant and bucket at a time, since one statement
stands in all of them. Judging an edge proves the rounds again without it; that goes through at most
MOST_ITEMS items of rounds, and edges beyond are not judged: a bound, where only silence is lost.
"""

from __future__ import annotations

from dataclasses import replace

from plait.compiler.order import Order, order, rounds_needed
from plait.compiler.races.conflicts import races
from plait.compiler.round import HOST, Edge, Round
from plait.compiler.rules import never_comes_back, switch
from plait.compiler.rules.families import ordered
from plait.compiler.rules.rule import Rule
from plait.compiler.target import Target
from plait.dsl.diagnostic import Diagnostic, Edit, Fix
from plait.dsl.span import Span

RULE = Rule(
    code="PL901",
    title="no data needs an edge",
    why="""\
Without the edge every two accesses that meet keep their order, in every variant and bucket, every branch
still comes back, and what a pool or the device holds at a time is no more. It orders work that could run
side by side, and may cost a wait a round. Remove it, or, if it is there for something that no declaration
shows, such as keeping the host from running ahead, say so: `# allow PL901: REASON` on its line or the one
above. `plait check --fix --waste` removes all that are noted. Edges inside a capture make up its structure
and are never noted, nor are waits of the host where a phase is `raw`. In very large rounds some edges
are not judged.""",
    bad="""\
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
  join side into host
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

MOST_ITEMS = 200_000


def check(orders: list[Order], target: Target) -> list[Diagnostic]:
    """The edges that can go together, or any of them alone; the last of several that do the same."""
    rounds = list({found.round.meeting: found.round for found in orders}.values())
    left = list(rounds)
    items = 0
    unneeded = []
    for span in sorted(_statements(rounds), key=lambda span: span.start, reverse=True):
        without = [_without(round, span) for round in left]
        for place, shorter in enumerate(without):
            if shorter is left[place]:
                continue
            items += len(shorter.items) * rounds_needed(shorter)
            if items > MOST_ITEMS:
                return sorted(unneeded, key=lambda one: one.place)
            if not sound(rounds[place], order(shorter, rounds_needed(rounds[place])), target):
                break
        else:
            if len(without) > 1 and switch.check([order(round) for round in without]):
                continue
            left = without
            unneeded.append(_diagnostic(orders, span))
    return sorted(unneeded, key=lambda one: one.place)


def _statements(rounds: list[Round]) -> set[Span]:
    """Of edges between two queues in some round, those that are no capture's structure."""
    apart: set[Span] = set()
    structure: set[Span] = set()
    for round in rounds:
        raw = any("raw" in phase.attributes for phase in round.phases)
        for edge in round.edges:
            drains = edge.target == HOST and raw
            if edge.capture is not None or edge.word in ("launch", "await") or drains:
                structure.add(edge.span)
            elif edge.target != round.origin(edge.source):
                apart.add(edge.span)
    return apart - structure


def _without(round: Round, span: Span) -> Round:
    items = tuple(i for i in round.items if not (isinstance(i, Edge) and i.span == span))
    return round if len(items) == len(round.items) else replace(round, items=items)


def sound(written: Round, found: Order, target: Target) -> bool:
    """Whether nothing races, all that is forked as the text is written still comes back, and all fits."""
    if races(found, most=1) or never_comes_back.check(written, found):
        return False
    return not any(rule.check(found.round, found, target) for rule in ordered(written))


def _diagnostic(orders: list[Order], span: Span) -> Diagnostic:
    found, places = next((found, p) for found in orders if (p := _edges(found.round, span)))
    edge = found.round.items[min(places)]
    assert isinstance(edge, Edge)
    text = found.round.edge_text(edge)
    waits = sum(not places.isdisjoint(wait.edges) for wait in found.waits)
    cost = f"{waits} wait{'s' * (waits != 1)} a round" if waits else "no wait: other edges give it"
    return Diagnostic(
        RULE.code,
        f"no data needs `{text}`",
        span,
        RULE.severity,
        facts=(("edge", text), ("cost", cost)),
        help=f"remove it, or say why it stands: `# allow {RULE.code}: REASON`",
        fix=Fix(f"remove `{span.text}`", removal(span)),
    )


def removal(span: Span) -> tuple[Edit, ...]:
    """Without a statement, and without its line where that holds nothing else."""
    text = span.source.text
    start, end = text.rfind("\n", 0, span.start) + 1, text.find("\n", span.end) + 1
    before, after = text[start : span.start].strip(), text[span.end : end].strip()
    if not before and not after and end:
        return (Edit(Span(span.source, start, end), ""),)
    if before.endswith("{") and after.startswith("}"):
        return ()  # braces hold something
    return (Edit(span, ""),)


def _edges(round: Round, span: Span) -> set[int]:
    """Where a statement's edges between two queues stand in a round."""
    return {
        place
        for place, item in enumerate(round.items)
        if isinstance(item, Edge) and item.span == span and item.target != round.origin(item.source)
    }
