"""What each graph of a round is worth, as text and as data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from plait.compiler.measures.account import Account
from plait.compiler.measures.balance import Balance
from plait.compiler.views.summary import head
from plait.dsl.render.figures import shown


def balance_data(
    account: Account, made: Sequence[Balance], live: Mapping[str, int]
) -> dict[str, Any]:
    return {
        "name": account.found.schedule.name,
        "at": account.found.bucket.name,
        "live": dict(live),
        "costs": account.found.profile.name,
        "round": account.measures.round,
        "graphs": [
            {
                "capture": one.replay.name,
                "phases": one.phases,
                "rows_real": one.replay.live,
                "rows_replayed": one.replay.rows,
                "rows_padded": one.replay.padded,
                "launches_saved": one.launches,
                "padding": one.padding,
                "preparation": one.preparation,
                "net": one.net,
                "round_without": account.measures.round + one.gained,
                "gained": one.gained,
                "memory": one.memory,
            }
            for one in made
        ],
    }


def balance_text(account: Account, made: Sequence[Balance], live: Mapping[str, int]) -> str:
    lines = [head(account, "graphs"), ""]
    at = ", ".join(f"{name} = {size}" for name, size in live.items())
    head_row = (
        "",
        "launches saved",
        "padding",
        "preparation",
        "net",
        "a round gains",
        "bytes kept",
    )
    rows = [head_row] + [
        (
            one.replay.name,
            _signed(one.launches),
            _signed(-one.padding),
            _signed(-one.preparation),
            _signed(one.net),
            _signed(one.gained),
            f"{one.memory:,}",
        )
        for one in made
    ]
    if not made:
        return "\n".join([*lines, "  none"]) + "\n"
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = [cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)]
        lines.append("  " + "  ".join([row[0].ljust(widths[0]), *cells]))
    lines += [
        "",
        f"live: {at or 'all rows'}",
        "net: launches saved, less padding and preparation",
        "a round gains what it would take longer without the graph, on the same rows",
    ]
    lines += [
        f"{one.replay.name} costs more than it saves: it could run without a graph"
        for one in made
        if one.gained < 0
    ]
    return "\n".join(lines) + "\n"


def _signed(time: int) -> str:
    return "+" * (time > 0) + shown(time)
