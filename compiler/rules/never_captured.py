"""A capture that runs eagerly whatever is chosen."""

from __future__ import annotations

from plait.compiler.order import Order
from plait.compiler.rules.rule import Rule
from plait.dsl.diagnostic import Diagnostic
from plait.dsl.span import Span

RULE = Rule(
    code="PL905",
    title="a capture is never captured",
    why="""\
The `when` of a capture is true in no variant and on no route, so its phases are always issued one by one
and the graph that it promises is never made. Make the condition true somewhere, or write the phases
without the capture.""",
    bad="""\
spec 1
pipeline p {
  param steps = 0
  stream main
  buffer x : i64[4] carried
  capture g on main rows 4 when steps > 1 {
    phase make on main { updates x }
  }
}
""",
    mended="""\
spec 1
pipeline p {
  param steps = 2
  stream main
  buffer x : i64[4] carried
  capture g on main rows 4 when steps > 1 {
    phase make on main { updates x }
  }
}
""",
)


def check(orders: list[Order]) -> list[Diagnostic]:
    captured = {capture.statement for found in orders for capture in found.round.captures}
    eager: dict[Span, None] = {}
    for found in orders:
        for phase in found.round.phases:
            if phase.braces is not None and phase.braces not in captured:
                eager[phase.braces] = None
    return [_diagnostic(statement) for statement in eager]


def _diagnostic(statement: Span) -> Diagnostic:
    head = statement.text.partition("{")[0].strip()
    return Diagnostic(
        RULE.code,
        f"`{head}` is captured in no variant and on no route",
        Span(statement.source, statement.start, statement.start + len(head)),
        RULE.severity,
        facts=(("capture", head),),
        help="make its `when` true somewhere, or write the phases without it",
    )
