"""More tasks to rebind in a round than the target can have under way."""

from __future__ import annotations

from plait.compiler.order import Order
from plait.compiler.round import Phase, Round
from plait.compiler.rules.rule import Rule
from plait.compiler.target import Target
from plait.dsl.diagnostic import Diagnostic

_ROUND = """\
spec 1
pipeline p {{
  stream main
  stream update : update
  buffer lens : i64[4] task
  buffer x : bf16[4, 64] carried
  fork update from main
  phase rebind on update {{ writes lens }}
  phase embed on main {{ updates x }}
  join update into main
  capture step on main rows 4 {{
{phases}
  }}
}}
"""
_ONE = "    phase attend[{n}] on main {{ reads lens  updates x }}"

RULE = Rule(
    code="PL803",
    title="a round rebinds more captured tasks than the target can have under way",
    why="""\
A captured phase that reads a `task` buffer is a task whose parameters are rebound before its graph
is replayed. A target has so many such updates under way at once (`graphs.tasks`, or `--limit
tasks=64`). Read what changes from device memory, or take fewer layers into graphs.""",
    bad=_ROUND.format(phases="\n".join(_ONE.format(n=n) for n in range(3))),
    mended=_ROUND.format(phases="\n".join(_ONE.format(n=n) for n in range(2))),
    target="ascend910c",
    limits=("tasks=2",),
)


def check(orders: list[Order], target: Target) -> list[Diagnostic]:
    most = target.graphs.tasks
    if most is None or not target.graphs.task_update:
        return []
    found = [(_tasks(one.round), one.round) for one in orders if one.round.captures]
    tasks, round = max(found, key=lambda one: len(one[0]), default=([], orders[0].round))
    if len(tasks) <= most:
        return []
    message = f"the round rebinds {len(tasks):,} captured tasks{round.where}"
    facts = (("tasks under way", f"at most {most:,} on {target.name}"),)
    help = "let phases read from device memory what changes, or capture fewer of them"
    label = f"the first of {len(tasks):,} that read a `task` buffer"
    return [Diagnostic(RULE.code, message, tasks[0].span, label=label, facts=facts, help=help)]


def _tasks(round: Round) -> list[Phase]:
    return [
        phase
        for phase in round.phases
        if phase.capture is not None and any(round.buffers[a.buffer].task for a in phase.accesses)
    ]
