"""A buffer that a capture both takes in and changes, though its address is not the graph's."""

from __future__ import annotations

from plait.compiler.conflicts import copied_in
from plait.compiler.order import Order
from plait.compiler.round import Round
from plait.compiler.rules.rule import Rule
from plait.dsl.diagnostic import Diagnostic, Label

RULE = Rule(
    code="PL502",
    title="a capture reads and changes a buffer that is neither static nor carried",
    why="""\
What a capture reads from outside is copied in when it is loaded; what it writes lives in the graph's
own memory. A buffer it does both to would have two places. Say `static` if the graph may hold the
buffer's address, or `carried` if the value lives on between rounds.""",
    bad="""\
spec 1
pipeline p {
  stream main
  buffer x : i64[4]
  phase make on main { writes x }
  capture g on main rows 4 {
    phase change on main { updates x }
  }
}
""",
    mended="""\
spec 1
pipeline p {
  stream main
  buffer x : i64[4] static
  phase make on main { writes x }
  capture g on main rows 4 {
    phase change on main { updates x }
  }
}
""",
)


def check(round: Round, found: Order) -> list[Diagnostic]:
    diagnostics = []
    for capture in round.captures:
        taken = copied_in(round, capture.number)
        inputs = {buffer for buffer, rounds_back in taken if rounds_back == 0}
        for phase in round.phases:
            if phase.capture != capture.number:
                continue
            for access in phase.accesses:
                if access.writes and access.buffer in inputs:
                    inputs.discard(access.buffer)
                    name = round.buffers[access.buffer].name
                    diagnostics.append(
                        Diagnostic(
                            RULE.code,
                            f"the capture `{capture.name}` copies `{name}` in and changes it",
                            access.span,
                            labels=(Label(capture.span, "the capture"),),
                            facts=(("buffer", name), ("capture", capture.name)),
                            help=f"declare `{name}` static, or carried if it lives on",
                        )
                    )
    return diagnostics
