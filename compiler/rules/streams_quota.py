"""Graphs that take more streams than their process may have."""

from __future__ import annotations

from plait.compiler.budgets.bound import takes_at_most
from plait.compiler.order import Order
from plait.compiler.rules.rule import Rule
from plait.compiler.target import Target
from plait.dsl.diagnostic import Diagnostic

_ROUND = """\
spec 1
pipeline p {{
  dim bs in {buckets}
  stream main
  buffer x : bf16[bs, 64] carried
  capture step on main rows bs {{
    phase work on main {{ updates x }}
  }}
}}
"""

RULE = Rule(
    code="PL805",
    title="the graphs of a pipeline take more streams than their share of the device",
    why="""\
A container may have only a part of a device, and of its streams: `streams.quota` of a target of
yours, or `--limit streams=400`. What the runtime takes by itself counts, and nothing is kept free
beside: a quota is yours alone.""",
    bad=_ROUND.format(buckets="[1, 2, 4]"),
    mended=_ROUND.format(buckets="[2, 4]"),
    target="ascend910c",
    limits=("streams=36",),
)


def check(orders: list[Order], target: Target) -> list[Diagnostic]:
    streams = target.streams
    rounds = [one.round for one in orders]
    if streams.quota is None:
        return []
    room = max(streams.quota - streams.taken, 0)
    if takes_at_most(rounds, target.graphs) <= room:
        return []
    # Late: most pipelines need neither, and loading costs start-up.
    from plait.compiler.budgets.bill import bill_of
    from plait.compiler.budgets.over import too_many

    bill = bill_of(rounds, target)
    if bill.streams() <= room:
        return []
    left = f"{streams.quota:,} - {streams.taken:,} taken = {room:,}"
    return [too_many(RULE.code, bill, room, f"this share of {target.name}", left)]
