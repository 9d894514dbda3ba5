"""An exchange in a graph in a mode that no graph can hold."""

from __future__ import annotations

from plait.compiler.graphs.capturable import reads_counts
from plait.compiler.order import Order
from plait.compiler.round import Phase, Round
from plait.compiler.rules.rule import Rule
from plait.compiler.target import Target
from plait.dsl.diagnostic import Diagnostic, Label

RULE = Rule(
    code="PL853",
    title="a graph holds an exchange in a mode that waits for the host",
    why="""\
How many rows each rank receives is known only once they are counted. The normal mode of an exchange
library, `all_to_all`, reads the counts on the host, which no capture allows; its low-latency mode has room
for the most there can be and reads nothing. Which of the two runs decides whether a graph can be made:
a graph with `all_to_all` in it is none, and its capture fails or the server runs eager without a word.
Use `low_latency` there, or let the capture run eagerly where the mode is the normal one.""",
    bad="""\
spec 1
pipeline p {
  group ep
  stream main
  buffer x : f32[4] carried
  buffer recv : opaque
  capture step on main rows 4 {
    phase dispatch on main { reads x  writes recv  collective all_to_all over ep }
    phase experts on main { reads recv  writes x }
  }
}
""",
    mended="""\
spec 1
pipeline p {
  group ep
  stream main
  buffer x : f32[4] carried
  buffer recv : opaque
  capture step on main rows 4 {
    phase dispatch on main { reads x  writes recv  collective low_latency over ep }
    phase experts on main { reads recv  writes x }
  }
}
""",
    target="ascend910c",
)


def check(round: Round, found: Order, target: Target) -> list[Diagnostic]:
    if target.exchange is None:
        return []
    # Of those that a `for` or calls repeat, one.
    held = {
        phase.collective.span: _diagnostic(round, phase, target)
        for phase in reversed(round.phases)
        if phase.collective is not None
        and phase.capture is not None
        and reads_counts(phase, target)
        and "host_sync" not in phase.attributes
    }
    return list(held.values())[::-1]


def _diagnostic(round: Round, phase: Phase, target: Target) -> Diagnostic:
    assert phase.collective is not None and phase.capture is not None
    kind, capture = phase.collective.kind, round.captures[phase.capture]
    facts = (("phase", phase.base), ("capture", capture.name), ("mode", kind))
    return Diagnostic(
        RULE.code,
        f"`{phase.name}` exchanges in the mode `{kind}`, which waits for the host on {target.name}:"
        f" the graph `{capture.name}` cannot hold it",
        phase.collective.span,
        labels=(Label(capture.span, "the capture"),),
        facts=facts,
        help="use `low_latency` there, or run it eagerly: `capture ... when` the mode allows it",
    )
