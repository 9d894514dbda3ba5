"""A choice of buckets as a page for a terminal, and as data."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from plait.compiler.buckets.plan import Plan
from plait.compiler.buckets.trial import as_list
from plait.compiler.budgets.over import exceeded
from plait.dsl.render.figures import percent

FEW = 8


def text(plan: Plan) -> str:
    held = plan.rows + plan.padded
    held_now = plan.rows_now + plan.padded_now
    out = [
        f"buckets of {plan.dim}, for {plan.rounds:,} rounds of {plan.rows:,} rows",
        "",
        f"  now   {as_list(plan.now)}: {_padded(plan.padded_now, held_now)}",
        f"  then  {as_list(plan.buckets)}: {_padded(plan.padded, held)}",
    ]
    if plan.too_large:
        out.append(f"  {plan.too_large:,} rounds are over the largest bucket of now")
    if plan.buckets[-1] < plan.now[-1]:
        top = plan.buckets[-1]
        out.append(f"  sizes over {top} will not fit; a line `{plan.now[-1]} 0` keeps that one")
    if len(plan.asked.sizes[plan.dim]) > len(plan.buckets):
        what = f"{len(plan.buckets)} fit {plan.bill.target.name}"
        out.append(f"  {what}; {len(plan.asked.sizes[plan.dim])} take {exceeded(plan.asked)}")
    if plan.left_out:
        sizes = list(plan.left_out)
        named = ", ".join(map(str, sizes[:FEW])) + (", ..." if len(sizes) > FEW else "")
        out.append(f"  left out: {named} ({plan.left_out[sizes[0]]})")
    return "\n".join([*out, "", plan.statement]) + "\n"


def _padded(rows: int, held: int) -> str:
    return f"{rows:,} padded rows, {percent(Fraction(rows, max(held, 1)))} of all"


def as_data(plan: Plan) -> dict[str, Any]:
    return {
        "dim": plan.dim,
        "target": plan.bill.target.name,
        "seen": {"rounds": plan.rounds, "rows": plan.rows},
        "now": {
            "buckets": plan.now,
            "padded": plan.padded_now,
            "rounds_too_large": plan.too_large,
        },
        "then": {"buckets": plan.buckets, "padded": plan.padded},
        "most": plan.most,
        "streams": {
            "asked": plan.asked.streams(),
            "taken": plan.bill.streams(),
            "room": plan.bill.room,
        },
        "left_out": [{"size": size, "why": why} for size, why in plan.left_out.items()],
        "statement": plan.statement,
    }
