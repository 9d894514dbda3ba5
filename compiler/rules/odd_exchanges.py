"""An odd number of exchanges in a graph, or between graphs, where two windows take turns on the host."""

from __future__ import annotations

from plait.compiler.order import Order
from plait.compiler.round import Phase, Round
from plait.compiler.rules.rule import Rule
from plait.compiler.target import Target
from plait.dsl.diagnostic import Diagnostic

RULE = Rule(
    code="PL855",
    title="a graph holds an odd number of low-latency exchanges",
    why="""\
Two windows take turns, and each operation clears the one that comes next. Where the host keeps whose turn
it is, a graph always uses the windows of its capture: after an odd number of operations, in the graph or
between two replays, a replay sends into a window that nobody has cleared, or that is still read. Keep
dispatch and combine of a layer on the same side of the brace.""",
    bad="""\
spec 1
pipeline p {
  group ep
  stream main
  buffer x : f32[4] carried
  buffer recv : f32[4]
  buffer y : f32[4]
  capture step on main rows 4 {
    phase dispatch on main { reads x  writes recv  collective low_latency over ep }
    phase experts on main { reads recv  writes y }
  }
  phase add on main { reads y  writes x }
}
""",
    mended="""\
spec 1
pipeline p {
  group ep
  stream main
  buffer x : f32[4] carried
  buffer recv : f32[4]
  buffer y : f32[4]
  buffer back : f32[4]
  capture step on main rows 4 {
    phase dispatch on main { reads x  writes recv  collective low_latency over ep }
    phase experts on main { reads recv  writes y }
    phase combine on main { reads y  writes back  collective low_latency over ep }
  }
  phase add on main { reads back  writes x }
}
""",
    target="cuda",
)


def check(round: Round, found: Order, target: Target) -> list[Diagnostic]:
    if target.exchange is None or not target.exchange.turns_baked:
        return []
    groups: dict[int, list[list[Phase]]] = {}
    for phase in round.phases:
        if phase.collective is not None and phase.collective.kind == "low_latency":
            runs = groups.setdefault(phase.collective.group, [])
            if not runs or runs[-1][0].capture != phase.capture:
                runs.append([])
            runs[-1].append(phase)
    return [
        _diagnostic(round, run, target)
        for runs in groups.values()
        if any(run[0].capture is not None for run in runs)
        for run in _joined(runs)
        if len(run) % 2
    ]


def _joined(runs: list[list[Phase]]) -> list[list[Phase]]:
    """What stands below the last graph goes on above the first, in the next round."""
    first, last = runs[0], runs[-1]
    if len(runs) > 1 and first[0].capture is None and last[0].capture is None:
        return [*runs[1:-1], last + first]
    return runs


def _diagnostic(round: Round, run: list[Phase], target: Target) -> Diagnostic:
    first = run[0]
    assert first.collective is not None
    group = round.groups[first.collective.group].name
    where = "between replays"
    if first.capture is not None:
        where = f"in the graph `{round.captures[first.capture].name}`"
    names = ", ".join(dict.fromkeys(phase.base for phase in run))
    return Diagnostic(
        RULE.code,
        f"{len(run)} low-latency exchange{'s' * (len(run) > 1)} over `{group}` {where}: an odd number,"
        f" while {target.name} bakes the turns of two windows into graphs",
        first.collective.span,
        facts=(("group", group), ("phases", names)),
        help="keep each dispatch and its combine on the same side of the brace",
    )
