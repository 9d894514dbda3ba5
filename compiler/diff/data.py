"""A diff as plain data, for JSON: times in nanoseconds, memory in bytes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from plait.compiler.diff.amounts import Amount
from plait.compiler.diff.diff import Diff
from plait.compiler.diff.gates import Failure
from plait.compiler.diff.orders import Pair
from plait.compiler.diff.row import Row
from plait.compiler.diff.text import summary
from plait.dsl.render.figures import as_number


def as_data(found: Diff, failed: Sequence[Failure] = ()) -> dict[str, Any]:
    return {
        "same": not found,
        "before": found.before,
        "after": found.after,
        "summary": summary(found) if found else "no difference",
        "buckets": list(found.at),
        "costs": list(found.costs),
        "stuck": list(found.stuck),
        "hazards": [_row(row) for row in found.hazards],
        "amounts": [_amount(one) for one in found.amounts],
        "rows": [_row(row) for row in found.rows],
        "orders": {
            "gained": found.orders.gained,
            "lost": found.orders.lost,
            "pairs": [_pair(one) for one in found.orders.pairs],
        },
        "failed": [{"gate": one.gate, "why": one.why} for one in failed],
    }


def _row(row: Row) -> dict[str, Any]:
    return {
        "kind": row.kind,
        "change": row.change,
        "was": row.was,
        "now": row.now,
        "before": row.before,
        "after": row.after,
    }


def _amount(one: Amount) -> dict[str, Any]:
    return {
        "name": one.name,
        "unit": one.unit,
        "before": as_number(one.before),
        "after": as_number(one.after),
        "change": as_number(one.change),
        "verdict": one.verdict,
        "better": one.polarity,
    }


def _pair(one: Pair) -> dict[str, Any]:
    return {
        "change": "gained" if one.gained else "lost",
        "first": list(one.first),
        "second": list(one.second),
        "rounds_later": [one.before, one.after],
    }
