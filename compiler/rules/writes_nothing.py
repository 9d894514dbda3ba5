"""A phase on a device that writes nothing: nobody could tell whether it ran."""

from __future__ import annotations

from plait.compiler.order import Order
from plait.compiler.round import HOST, Phase
from plait.compiler.rules.rule import Rule
from plait.dsl.diagnostic import Diagnostic
from plait.dsl.span import Span

RULE = Rule(
    code="PL904",
    title="a phase writes nothing",
    why="""\
A phase on a device is known by what it writes. One that writes nothing, in no variant and on no route,
either does nothing or does not say what it does, and then no order of it can be proved. Declare what it
writes, or remove it. A phase of the host may act on the world outside, and one with a collective on
other ranks.""",
    bad="""\
spec 1
pipeline p {
  stream main
  buffer x : i64[4] carried
  phase make on main { updates x }
  phase look on main { reads x }
}
""",
    mended="""\
spec 1
pipeline p {
  stream main
  buffer x : i64[4] carried
  buffer y : i64[4]
  phase make on main { updates x }
  phase look on main { reads x  writes y }
}
""",
)


def check(orders: list[Order]) -> list[Diagnostic]:
    silent: dict[Span, Phase] = {}
    known: set[Span] = set()
    for found in orders:
        for phase in found.round.phases:
            acts = phase.stream == HOST or phase.collective is not None
            if acts or any(access.writes for access in phase.accesses):
                known.add(phase.span)
            else:
                silent.setdefault(phase.span, phase)
    return [
        Diagnostic(
            RULE.code,
            f"`{phase.name}` writes nothing",
            span,
            RULE.severity,
            facts=(("phase", phase.name),),
            help=f"declare what it writes, or remove it; or say why: `# allow {RULE.code}: REASON`",
        )
        for span, phase in silent.items()
        if span not in known
    ]
