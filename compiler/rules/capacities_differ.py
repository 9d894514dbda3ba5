"""Exchanges over one group that are made for windows of different sizes."""

from __future__ import annotations

from plait.compiler.order import Order
from plait.compiler.round import Collective, Phase, Round
from plait.compiler.rules.rule import Rule
from plait.compiler.target import Target
from plait.dsl.diagnostic import Diagnostic, Label

RULE = Rule(
    code="PL854",
    title="exchanges over one group have different capacities",
    why="""\
The capacity lays out the window of a group: where the rows of each rank begin, and where their counts
stand. The window is one, so two exchanges with different capacities read each other's rows as counts and
miss what was sent; a graph made for a small bucket spoils it for a large one. One graph alone works.
Give all exchanges over the group one capacity, the largest that any bucket needs, or two groups.""",
    bad="""\
spec 1
pipeline p {
  group ep
  dim bs in [1, 8] over ep
  stream main
  pool ll = 2
  buffer x : f32[bs] carried
  buffer recv : opaque in ll
  phase dispatch on main {
    reads x
    writes recv
    rows bs
    collective low_latency over ep capacity bs
  }
  phase experts on main { reads recv  writes x }
}
""",
    mended="""\
spec 1
pipeline p {
  group ep
  dim bs in [1, 8] over ep
  stream main
  pool ll = 2
  buffer x : f32[bs] carried
  buffer recv : opaque in ll
  phase dispatch on main {
    reads x
    writes recv
    rows bs
    collective low_latency over ep capacity 8
  }
  phase experts on main { reads recv  writes x }
}
""",
)


def check(orders: list[Order], target: Target) -> list[Diagnostic]:
    firsts: dict[str, tuple[Round, Phase, Collective]] = {}
    found: dict[str, Diagnostic] = {}
    for order in orders:
        round = order.round
        for phase in round.phases:
            one = phase.collective
            if one is None or one.kind != "low_latency" or one.capacity is None:
                continue
            name = round.groups[one.group].name
            first = firsts.setdefault(name, (round, phase, one))
            if first[2].capacity != one.capacity and name not in found:
                found[name] = _diagnostic(name, first, (round, phase, one))
    return list(found.values())


def _diagnostic(
    group: str, first: tuple[Round, Phase, Collective], other: tuple[Round, Phase, Collective]
) -> Diagnostic:
    (at, one, small), (round, phase, large) = first, other
    labels = () if small.span == large.span else (Label(small.span, f"{small.capacity} here"),)
    return Diagnostic(
        RULE.code,
        f"`{one.name}`{at.where} has a capacity of {small.capacity},"
        f" `{phase.name}`{round.where} of {large.capacity}: the group `{group}` has one window",
        large.span,
        labels=labels,
        facts=(("group", group), ("phases", f"{one.name}, {phase.name}")),
        help=f"give both {max(small.capacity or 0, large.capacity or 0)}, or a group each",
    )
