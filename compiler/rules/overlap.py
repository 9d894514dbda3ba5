"""One phase that reads and writes the same entries through two accesses."""

from __future__ import annotations

from plait.compiler.order import Order
from plait.compiler.races.conflicts import regions_meet
from plait.compiler.round import Access, Phase, Round
from plait.compiler.rules.rule import Rule
from plait.dsl.diagnostic import Diagnostic, Label

RULE = Rule(
    code="PL202",
    title="a phase reads and writes the same entries through two accesses",
    why="""\
Two accesses of one phase reach its callable as two arguments. Where they are the same memory, what the
callable reads depends on what it has already written, which no order outside it can settle. Say
`updates` for what is both read and written, or keep the two apart: by their regions, or, for a value of
an earlier round, by `copies`.""",
    bad="""\
spec 1
pipeline p {
  stream main
  buffer x : i64[4] carried
  phase step on main { reads x as old  writes x as new }
}
""",
    mended="""\
spec 1
pipeline p {
  stream main
  buffer x : i64[4] carried
  phase step on main { updates x }
}
""",
)


def check(round: Round, found: Order) -> list[Diagnostic]:
    return [
        _diagnostic(round, phase, first, second)
        for phase in round.phases
        for place, second in enumerate(phase.accesses)
        for first in phase.accesses[:place]
        if _meet(round, first, second)
    ]


def _meet(round: Round, a: Access, b: Access) -> bool:
    if a.buffer != b.buffer or not (a.writes or b.writes):
        return False
    apart = (a.rounds_back - b.rounds_back) % round.buffers[a.buffer].copies
    return not apart and regions_meet(a.region, b.region)


def _diagnostic(round: Round, phase: Phase, first: Access, second: Access) -> Diagnostic:
    name = round.buffers[first.buffer].name
    return Diagnostic(
        RULE.code,
        f"`{phase.name}` {first.kind} and {second.kind} the same entries of `{name}`",
        second.span,
        labels=(Label(first.span, f"{first.kind} {name}"),),
        facts=(("buffer", name), ("phase", phase.name)),
        help=f"say `updates {name}`, or keep the two apart by regions or `copies`",
    )
