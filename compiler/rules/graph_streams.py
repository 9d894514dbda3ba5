"""Graphs that take more streams than their device has."""

from __future__ import annotations

from plait.compiler.budgets.bound import takes_at_most
from plait.compiler.order import Order
from plait.compiler.rules.rule import Rule
from plait.compiler.target import Target
from plait.dsl.diagnostic import Diagnostic

_LAYERS = """\
spec 1
pipeline p {{
  dim bs in {buckets}
  stream main
  stream side
  buffer x : bf16[bs, 64] carried
  buffer a : bf16[bs, 64]
  buffer b : bf16[bs, 64]
  for l in 0 .. 149 {{
    capture layer[l] on main rows bs {{
      fork side from main
      phase left[l] on side {{ reads x  writes a }}
      phase right[l] on main {{ reads x  writes b }}
      join side into main
      phase add[l] on main {{ reads a, b  writes x }}
    }}
  }}
}}
"""

RULE = Rule(
    code="PL802",
    title="the graphs of a pipeline take more streams than the device has",
    why="""\
A graph takes a stream, one more for every side stream it joins and one for every communicator it
uses; there is a graph for every capture, for every value of the dims it uses and for every
combination of the copies it holds. The runtime takes some before, and some stay free. Beyond that a
capture fails, with a code that does not say why. The bill is given, and which buckets to drop; where
the largest bucket alone takes too many, dropping others cannot help.""",
    bad=_LAYERS.format(buckets="[1, 2, 4, 8, 16, 32]"),
    mended=_LAYERS.format(buckets="[2, 4, 8, 16, 32]"),
    target="ascend910c",
)


def check(orders: list[Order], target: Target) -> list[Diagnostic]:
    streams, reserve = target.streams, target.graphs.reserve
    rounds = [one.round for one in orders]
    if streams.budget is None:
        return []
    room = max(streams.budget - streams.taken - reserve, 0)
    if takes_at_most(rounds, target.graphs) <= room:
        return []
    # Late: most pipelines need neither, and loading costs start-up.
    from plait.compiler.budgets.bill import bill_of
    from plait.compiler.budgets.over import too_many

    bill = bill_of(rounds, target)
    if bill.streams() <= room:
        return []
    left = f"{streams.budget:,} - {streams.taken:,} taken - {reserve:,} kept free = {room:,}"
    return [too_many(RULE.code, bill, room, target.name, left)]
