"""A wait for a rebind that is issued later, where a wait is only for what was issued before."""

from __future__ import annotations

from plait.compiler.order import Order
from plait.compiler.round import Edge, Round
from plait.compiler.rules.rule import Rule
from plait.compiler.target import Target
from plait.dsl.diagnostic import Diagnostic, Label

RULE = Rule(
    code="PL510",
    title="a wait stands above what it is for",
    why="""\
A graph whose tasks are rebound holds a wait that lasts until the record comes, so the rebind may be
issued further down. Any other wait is for the newest record there is when it is issued: of work further
down there is none, and it waits for nothing. That goes for a target without task updates, where a rebind
is a copy, and for a route on which the capture runs without a graph. Issue the rebind above the capture.""",
    bad="""\
spec 1
pipeline p {
  stream main
  stream upd : update
  buffer lens : i64[4] task
  buffer x : i64[4] carried
  capture g on main rows 4 {
    join rebind into main
    phase attention on main { reads lens  updates x }
  }
  fork upd from prev g
  phase rebind on upd { writes lens }
}
""",
    mended="""\
spec 1
pipeline p {
  stream main
  stream upd : update
  buffer lens : i64[4] task
  buffer x : i64[4] carried
  fork upd from prev g
  phase rebind on upd { writes lens }
  capture g on main rows 4 {
    join rebind into main
    phase attention on main { reads lens  updates x }
  }
}
""",
)


def check(round: Round, found: Order, target: Target) -> list[Diagnostic]:
    diagnostics = []
    for place in round.waits_ahead:
        edge, phase = round.items[place], round.rebound_later(place)
        assert isinstance(edge, Edge) and phase is not None
        if edge.capture is None:
            why = f"without a graph nothing waits for that{round.where}"
        elif not target.graphs.task_update:
            why = f"a wait on {target.name} is for what was issued before"
        else:
            continue
        diagnostics.append(
            Diagnostic(
                RULE.code,
                f"`{phase.name}` is issued below `{round.edge_text(edge)}`, and {why}",
                edge.span,
                labels=(Label(phase.span, f"`{phase.name}` is issued here"),),
                facts=(("phase", phase.name), ("target", target.name)),
                help=f"issue `{phase.name}` above the capture",
            )
        )
    return diagnostics
