"""Two waits within graphs for one record, where the target has each record waited for once."""

from __future__ import annotations

from plait.compiler.order import Order
from plait.compiler.round import Edge, Round
from plait.compiler.rules.rule import Rule
from plait.compiler.target import Target
from plait.dsl.diagnostic import Diagnostic, Label

RULE = Rule(
    code="PL509",
    title="graphs wait twice for one record",
    why="""\
On some targets the event that a graph waits for is one slot: its record is taken by the first wait, and
a second is refused, or never returns. Wait once, on the stream that the others are forked from in the
graph, and fork them below its first reader; or rebind once for every wait.""",
    bad="""\
spec 1
pipeline p {
  stream main
  stream side
  stream upd : update
  buffer lens : i64[4] task
  buffer x : i64[4] carried
  buffer y : i64[4] carried
  fork upd from prev g
  phase rebind on upd { writes lens }
  capture g on main rows 4 {
    fork side from main
    join rebind into main
    phase first on main { reads lens  updates x }
    join rebind into side
    phase second on side { reads lens  updates y }
    phase third on main { updates x }
    join side into main
  }
}
""",
    mended="""\
spec 1
pipeline p {
  stream main
  stream side
  stream upd : update
  buffer lens : i64[4] task
  buffer x : i64[4] carried
  buffer y : i64[4] carried
  fork upd from prev g
  phase rebind on upd { writes lens }
  capture g on main rows 4 {
    join rebind into main
    phase first on main { reads lens  updates x }
    fork side from main
    phase second on side { reads lens  updates y }
    phase third on main { updates x }
    join side into main
  }
}
""",
    target="ascend910c",
)


def check(round: Round, found: Order, target: Target) -> list[Diagnostic]:
    """Only waits that are emitted count: what another wait gives already takes no record."""
    if target.events.shared_into_capture:
        return []
    first: dict[int, Edge] = {}
    diagnostics = []
    for wait in sorted(found.waits, key=lambda one: one.edge):
        edge = round.items[wait.edge]
        assert isinstance(edge, Edge)
        if edge.capture is None or not round.from_outside(edge):
            continue
        known = first.setdefault(wait.source, edge)
        if known is not edge:
            diagnostics.append(_diagnostic(round, known, edge, target))
    return diagnostics


def _diagnostic(round: Round, first: Edge, second: Edge, target: Target) -> Diagnostic:
    name = round.source_name(second.source)
    return Diagnostic(
        RULE.code,
        f"graphs wait for `{name}` a second time, which {target.name} refuses",
        second.span,
        labels=(Label(first.span, "the first wait takes the record"),),
        facts=(("phase", name), ("target", target.name)),
        help="wait once, on the stream that the others are forked from, or rebind for each wait",
    )
