"""Whether all ranks were started alike, as they tell each other before they meet in a group.

Groups are made by all ranks at once, and which there are a schedule says: with different ones, ranks would
wait for each other in vain.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from datetime import timedelta
from typing import TYPE_CHECKING

from plait.runtime.ranks.error import RankError
from plait.runtime.ranks.same_schedule import difference, ranks_said
from plait.runtime.runner import BindError

if TYPE_CHECKING:
    from torch.distributed import Store  # pyright: ignore[reportPrivateImportUsage]

Said = dict[str, dict[str, str]]


def check_alike(
    store: Store,
    rank: int,
    size: int,
    name: str,
    seconds: float,
    schedule: Mapping[str, str],
    settings: Mapping[str, str],
) -> None:
    """Compares digests of a schedule of that name, and whatever else is to be the same on all ranks.

    Raises BindError, and RankError for a rank that says nothing within so long.
    """
    store.set(f"alike/{rank}", json.dumps({"schedule": schedule, "settings": settings}))
    found = _said_by_all(store, size, name, seconds)
    schedules = {rank: said["schedule"] for rank, said in found.items()}
    wrong = difference(name, schedules) or _setting(found)
    if wrong:
        raise BindError(wrong)


def _said_by_all(store: Store, size: int, name: str, seconds: float) -> dict[int, Said]:
    until = time.monotonic() + seconds
    found: dict[int, Said] = {}
    for rank in range(size):
        left = timedelta(seconds=max(until - time.monotonic(), 0.001))
        try:
            store.wait([f"alike/{rank}"], left)
            found[rank] = json.loads(store.get(f"alike/{rank}"))
        except RuntimeError:
            continue
    if missing := [rank for rank in range(size) if rank not in found]:
        what = f"{ranks_said(missing)} did not begin with {name} within {seconds:g} s"
        raise RankError(what, late=tuple(missing), why=what)
    return found


def _setting(found: Mapping[int, Said]) -> str | None:
    """The first setting in which a rank differs, in words."""
    names = sorted({name for said in found.values() for name in said["settings"]})
    for name in names:
        alike: dict[str | None, list[int]] = {}
        for rank, said in found.items():
            alike.setdefault(said["settings"].get(name), []).append(rank)
        if len(alike) > 1:
            sides = [f"{name} {value} on {ranks_said(ranks)}" for value, ranks in alike.items()]
            return f"ranks were started differently: {', '.join(sides)}: start all of them alike"
    return None
