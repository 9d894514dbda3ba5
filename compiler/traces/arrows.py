"""Arrows of a trace-event file: how many of each sort have both ends."""

from __future__ import annotations

from collections import Counter
from typing import Any

from plait.compiler.traces.model import Flow


def arrows(ends: list[tuple[Any, Any, bool]], unknown: Counter[str]) -> list[Flow]:
    """Of ends with their category, their number and whether they are a start."""
    starts: dict[str, Counter[str]] = {}
    finishes: dict[str, Counter[str]] = {}
    for category, number, is_start in ends:
        if category.__class__ is not str or number.__class__ not in (int, str):
            unknown["arrows without a category and a number"] += 1
            continue
        (starts if is_start else finishes).setdefault(category, Counter())[number] += 1
    found = []
    for category in sorted({*starts, *finishes}):
        begun, ended = starts.get(category, Counter()), finishes.get(category, Counter())
        pairs = sum((begun & ended).values())
        found.append(Flow(category, pairs, ended.total() - pairs, begun.total() - pairs))
    return found
