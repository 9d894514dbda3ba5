"""The ranks that run one schedule, and a rank's part in their groups."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import count
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch.distributed import (  # pyright: ignore[reportPrivateImportUsage]
        ProcessGroup,
        Store,  # pyright: ignore[reportPrivateImportUsage]
    )

HOSTS = "gloo"
ACCELERATORS = {"cuda": "cpu:gloo,cuda:nccl", "npu": "cpu:gloo,npu:hccl"}
"""What the ranks of a device speak through; those of others as hosts do."""
WATCHDOG = "PLAIT_WATCHDOG_S"
SECONDS = 60.0
"""For which a rank waits for another, unless told."""


@dataclass(frozen=True)
class Member:
    """A rank's part in a group, as two communicators: that of hosts has the votes, too.

    Each is of use to one thread at a time, so a group of whose hosts and devices speak has two.
    """

    host: ProcessGroup
    device: ProcessGroup


@dataclass(frozen=True)
class Ranks:
    """All ranks that run a schedule, and by its names the groups that this one is in.

    Through the store each says how far it is, so it is to be held by what outlives them all, as a
    launcher does. `seconds`: for which a rank waits for another; it becomes the timeout of each group.
    """

    world: Member
    groups: Mapping[str, Member]
    store: Store
    seconds: float = field(default_factory=lambda: seconds_to_wait())
    binds: Iterator[int] = field(default_factory=count, repr=False)
    """A number for each runner, the same on all ranks."""


def seconds_to_wait() -> float:
    """Those of the environment, or else the default. Raises ValueError."""
    given = os.environ.get(WATCHDOG)
    if given is None:
        return SECONDS
    try:
        seconds = float(given)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < float("inf"):
        raise ValueError(
            f"{WATCHDOG}={given!r}: should be seconds, more than 0, as in {WATCHDOG}=60"
        )
    return seconds


def device_of(group: ProcessGroup) -> str:
    """Where tensors lie that a group takes: on the CPU if it can."""
    import torch.distributed as dist

    kinds = [entry.split(":")[0] for entry in dist.get_backend_config(group).split(",")]
    return "cpu" if "cpu" in kinds else kinds[0]


def ranks_of(group: ProcessGroup) -> list[int]:
    """Its ranks by their numbers among all."""
    import torch.distributed as dist

    return dist.get_process_group_ranks(group)


def limit(group: Any, seconds: float) -> None:
    """Has what waits in a group give up after so long."""
    from torch.distributed.distributed_c10d import _set_pg_timeout

    timeout = timedelta(seconds=seconds)
    if hasattr(group, "set_timeout"):
        group.set_timeout(timeout)
    else:  # a torch before 2.13
        _set_pg_timeout(timeout, group)
