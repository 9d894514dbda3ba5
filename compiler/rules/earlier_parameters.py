"""A captured task whose parameters are those of an earlier round, where a rebind is of a graph's tasks."""

from __future__ import annotations

from plait.compiler.order import Order
from plait.compiler.round import Access, Phase, Round
from plait.compiler.rules.rule import Rule
from plait.compiler.target import Target
from plait.dsl.diagnostic import Diagnostic

RULE = Rule(
    code="PL512",
    title="a captured task reads the parameters of an earlier round",
    why="""\
Where captured tasks can be updated, a rebind changes the tasks of a graph, and that graph is the one of
its own round: which bucket the next round replays is not known when it is issued. What a captured phase
reads by `prev` would be in another graph. Rebind in the round that replays, or keep the parameters in a
buffer that is no `task`, which is copied.""",
    bad="""\
spec 1
pipeline p {
  stream main
  stream upd : update
  buffer lens : i64[4] task copies 2
  buffer x : i64[4] carried
  capture g on main rows 4 {
    join prev rebind into main
    phase attention on main { reads prev lens  updates x }
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
    target="ascend910c",
)


def check(round: Round, found: Order, target: Target) -> list[Diagnostic]:
    if not target.graphs.task_update:
        return []
    return [
        _diagnostic(round, phase, access)
        for phase in round.phases
        if phase.capture is not None
        for access in phase.accesses
        if access.rounds_back and round.buffers[access.buffer].task
    ]


def _diagnostic(round: Round, phase: Phase, access: Access) -> Diagnostic:
    name = round.buffers[access.buffer].name
    return Diagnostic(
        RULE.code,
        f"`{phase.name}` is captured and reads the parameters `{name}` of an earlier round",
        access.span,
        facts=(("phase", phase.name), ("buffer", name)),
        help=f"rebind `{name}` in the round that reads it, above or below the capture",
    )
