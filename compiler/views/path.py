"""The critical path of a round, as text and as data: what decided its time, part by part."""

from __future__ import annotations

from typing import Any

from plait.compiler.measures.account import Account
from plait.compiler.measures.named import lane_named, named
from plait.compiler.views.summary import head, repeats_text
from plait.dsl.render.figures import shown


def path_data(account: Account) -> dict[str, Any]:
    """Parts follow each other without a gap, and add up to the time of the round."""
    found = account.found
    return {
        "name": found.schedule.name,
        "at": found.bucket.name,
        "costs": found.profile.name,
        "round": found.time,
        "path": [
            {
                "start": one.start - found.start,
                "end": one.end - found.start,
                "stream": lane_named(found, one.span),
                "name": named(found, one.span),
                "round": None
                if one.span is None
                else found.spans[one.span].what.round - found.round,
            }
            for one in found.path
        ],
    }


def path_text(account: Account) -> str:
    found = account.found
    rows = [
        (
            f"{one.start - found.start:,} ns",
            shown(one.end - one.start),
            lane_named(found, one.span),
            named(found, one.span) + _round(account, one.span),
        )
        for one in found.path
    ]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)] if rows else []
    lines = [
        f"  {start.rjust(widths[0])}  {time.rjust(widths[1])}  {stream.ljust(widths[2])}  {name}"
        for start, time, stream, name in rows
    ]
    lines += [f"  {found.time:,} ns in all", *repeats_text(found)]
    return "\n".join([head(account, "path"), "", *lines]) + "\n"


def _round(account: Account, span: int | None) -> str:
    apart = 0 if span is None else account.found.spans[span].what.round - account.found.round
    return f" (round r {'+' if apart > 0 else '-'} {abs(apart)})" if apart else ""
