"""A raw launch inside a capture: what goes around the queue goes around the recording, too."""

from __future__ import annotations

from plait.compiler.order import Order
from plait.compiler.round import Round
from plait.compiler.rules.rule import Rule
from plait.compiler.target import Target
from plait.dsl.diagnostic import Diagnostic, Label

RULE = Rule(
    code="PL506",
    title="a capture holds a raw launch",
    why="""\
A capture records what the framework issues. A phase marked `raw` launches around the framework, so the
graph either lacks it or was broken by it. Move it before or after the capture, or issue it through the
framework and leave out `raw`.""",
    bad="""\
spec 1
pipeline p {
  stream main
  buffer x : i64[4]
  capture g on main rows 4 {
    phase make on main raw { writes x }
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
}
""",
)


def check(round: Round, found: Order, target: Target) -> list[Diagnostic]:
    return [
        Diagnostic(
            RULE.code,
            f"`{phase.name}` launches around the framework, so the capture `{capture.name}` lacks it",
            phase.span,
            labels=(Label(capture.span, "the capture"),),
            facts=(("phase", phase.name), ("capture", capture.name)),
            help="move it out of the braces, or issue it through the framework and leave out `raw`",
        )
        for phase in round.phases
        if phase.capture is not None and "raw" in phase.attributes
        for capture in (round.captures[phase.capture],)
    ]
