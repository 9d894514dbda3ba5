"""Host work inside a capture: a graph holds device work only."""

from __future__ import annotations

from plait.compiler.order import Order
from plait.compiler.round import HOST, Round
from plait.compiler.rules.rule import Rule
from plait.dsl.diagnostic import Diagnostic, Label

RULE = Rule(
    code="PL501",
    title="a capture holds a phase of the host, or one that blocks it",
    why="""\
A graph records what is issued to a device. A host phase inside it would run once, while the graph is
captured, and never again; a phase marked `host_sync` waits for the device, which a capture refuses.
Move the phase before or after the capture, or split the capture in two around it.""",
    bad="""\
spec 1
pipeline p {
  stream main
  buffer x : i64[4]
  capture g on main rows 4 {
    phase make on main { writes x }
    phase look on host { }
  }
}
""",
    mended="""\
spec 1
pipeline p {
  stream main
  buffer x : i64[4]
  capture g on main rows 4 {
    phase make on main { writes x }
  }
  phase look on host { }
}
""",
)


def check(round: Round, found: Order) -> list[Diagnostic]:
    diagnostics = []
    for phase in round.phases:
        blocks = "host_sync" in phase.attributes
        if phase.capture is None or not (phase.stream == HOST or blocks):
            continue
        capture = round.captures[phase.capture]
        what = "blocks the host" if blocks else "runs on the host"
        diagnostics.append(
            Diagnostic(
                RULE.code,
                f"`{phase.name}` {what}, so the capture `{capture.name}` cannot hold it",
                phase.span,
                labels=(Label(capture.span, "the capture"),),
                facts=(("phase", phase.name), ("capture", capture.name)),
                help="move it out of the braces, or split the capture around it",
            )
        )
    return diagnostics
