"""Whether all ranks have bound one schedule: they compare digests of everything that decides it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from plait.runtime.schedule import Schedule
from plait.runtime.schedule_json import digests_of, to_json

PARTS = ("source", "settings", "target", "environment", "compiler", "checked")
"""What a schedule is made of, each compared by itself where schedules differ."""


def digests(schedule: Schedule, checked: bool) -> dict[str, str]:
    """SHA-256 of a schedule as a whole, and what tells which of its parts differs."""
    head = {
        "source": (schedule.source.name, schedule.source.sha256),
        "target": (schedule.target.name, schedule.target.sha256),
        "settings": [list(pair) for pair in schedule.settings],
        "environment": [list(pair) for pair in schedule.environment],
    }
    whole = hashlib.sha256(to_json(schedule).encode()).hexdigest()
    return {
        "schedule": whole,
        "compiler": schedule.compiler,
        "checked": str(checked),
        **digests_of(head),
    }


def difference(name: str, found: Mapping[int, Mapping[str, Any]]) -> str | None:
    """What is wrong with the digests of all ranks, in words; None: nothing."""
    alike: dict[tuple[Any, Any], list[int]] = {}
    for rank, digest in sorted(found.items()):
        alike.setdefault((digest.get("schedule"), digest.get("checked")), []).append(rank)
    if len(alike) == 1:
        return None
    sides = [
        f"{ranks_said(ranks)} {'has' if len(ranks) == 1 else 'have'} {str(schedule)[:12]}"
        for (schedule, _), ranks in alike.items()
    ]
    firsts = [found[ranks[0]] for ranks in alike.values()]
    parts = [part for part in PARTS if len({str(one.get(part)) for one in firsts}) > 1]
    which = f"; they differ in {' and '.join(parts)}" if parts else ""
    mend = "compile it once, and give all ranks one file and one environment"
    return f"ranks have different schedules of {name}: {', '.join(sides)}{which}: {mend}"


def ranks_said(ranks: list[int]) -> str:
    """`rank 1`, `ranks 0, 2`."""
    return f"rank{'s' if len(ranks) > 1 else ''} {', '.join(map(str, ranks))}"
