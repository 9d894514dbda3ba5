"""Ranks as a launcher has started them, such as torchrun, from the variables that it sets.

Groups are runs of ranks: of 8, `group world = 8` is all, and `group tp = 4 in world` is ranks 0 to 3 and
4 to 7. On more hosts nothing is different: the launcher numbers the ranks of all of them.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import timedelta
from itertools import count
from typing import Any

import torch.distributed as dist
from torch.distributed import PrefixStore  # pyright: ignore[reportPrivateImportUsage]
from torch.distributed.rendezvous import rendezvous

from plait.runtime.ranks.alike import check_alike
from plait.runtime.ranks.error import RankError
from plait.runtime.ranks.group import (
    ACCELERATORS,
    HOSTS,
    SECONDS,
    Member,
    Ranks,
    seconds_to_wait,
)
from plait.runtime.ranks.same_schedule import digests
from plait.runtime.runner import BindError
from plait.runtime.schedule import Schedule

_calls = count()
"""Each has a part of the store to itself."""


def launched() -> bool:
    """Whether this process is one of several ranks."""
    return os.environ.get("WORLD_SIZE", "1") != "1" and "RANK" in os.environ


def rank_launched() -> int:
    """This process's number among those that were launched; 0 for one by itself."""
    return int(os.environ["RANK"]) if launched() else 0


def from_environment(
    schedule: Schedule,
    device: str = "cpu",
    seconds: float | None = None,
    alike: Mapping[str, str] | None = None,
) -> Ranks:
    """All ranks that were launched, and the groups of a schedule among them.

    Without `seconds` a rank waits as long as `PLAIT_WATCHDOG_S` says. `alike`: what else is to be the same
    on all ranks, by name. Raises BindError when ranks differ, or it is not known which ranks a group has:
    then they are given as `Ranks`. Raises RankError when ranks do not meet, ValueError for wrong seconds.
    """
    seconds = seconds_to_wait() if seconds is None else seconds
    backend = ACCELERATORS.get(device.split(":")[0], HOSTS)
    patience = max(seconds, SECONDS)  # programs may take a while to come as far as this
    try:
        store, rank, size = next(rendezvous("env://", timeout=timedelta(seconds=patience)))
        # A launcher that starts its ranks again keeps its store, with all that those before said there.
        store = PrefixStore(f"start {os.environ.get('TORCHELASTIC_RESTART_COUNT', 0)}", store)
        own = PrefixStore(f"plait/{next(_calls)}", store)
        said = digests(schedule, False)
        check_alike(own, rank, size, schedule.name, patience, said, alike or {})
        sizes = sizes_of(schedule, size)
        if not dist.is_initialized():
            named = PrefixStore("default", store)
            dist.init_process_group(backend, store=named, rank=rank, world_size=size)
    except RankError:
        raise
    except RuntimeError as error:
        first = str(error).partition("\n")[0]
        raise RankError(f"ranks do not meet at {_meeting()}: {first}") from error
    world = member(size, backend)
    groups = {name: member(size, backend) for name, size in sizes.items()}
    return Ranks(world, groups, own, seconds)


def _meeting() -> str:
    return f"{os.environ.get('MASTER_ADDR')}:{os.environ.get('MASTER_PORT')}"


def member(size: int, backend: str = HOSTS) -> Member:
    """This rank's part in the run of so many ranks that it is in; made by all ranks at once."""

    def made(backend: str) -> Any:
        return dist.new_subgroups(group_size=size, backend=backend)[0]

    return Member(made(HOSTS), made(backend))


def sizes_of(schedule: Schedule, world: int) -> dict[str, int]:
    """How many of so many ranks are in each group. Raises BindError."""
    groups, where = schedule.groups, schedule.source.name
    unknown = [group.name for group in groups if group.size is None]
    if len(unknown) > 1:
        raise BindError(
            f"{where}: the groups {' and '.join(unknown)} have no sizes: give them, as in "
            f"`group {unknown[-1]} = 2 in {unknown[0]}`, or bind with `Ranks` of your own"
        )
    found = {group.name: world if group.size is None else group.size for group in groups}
    smaller = [number for number, group in enumerate(groups) if found[group.name] < world]
    for place, number in enumerate(smaller):
        name = groups[number].name
        if world % found[name]:
            raise BindError(f"{where}: {world} ranks are no groups `{name}` of {found[name]} each")
        for other in smaller[:place]:
            if not (_within(schedule, number, other) or _within(schedule, other, number)):
                raise BindError(
                    f"{where}: neither of the groups `{groups[other].name}` and `{name}` is in the "
                    "other, so it is not known which ranks they have: bind with `Ranks` of your own"
                )
    for name, size in found.items():
        if size > world:
            raise BindError(f"{where}: the group `{name}` has {size} ranks; {world} are launched")
    return found


def _within(schedule: Schedule, inner: int, outer: int) -> bool:
    """Whether one group is in another."""
    at: int | None = inner
    while at is not None and at != outer:
        at = schedule.groups[at].inside
    return at == outer
