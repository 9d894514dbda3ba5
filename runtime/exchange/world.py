"""The ranks of this launch: those that torchrun started, or this process alone."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

import torch.distributed as dist
from torch._C._distributed_c10d import HashStore

from plait.runtime.exchange.sizes import ExchangeError

LAUNCHED = ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")
"""What torchrun sets, on one host or many."""


@contextmanager
def world(backend: str = "gloo", timeout: float = 300) -> Iterator[tuple[int, int]]:
    """A process group around the block; gives rank and ranks. `timeout` in seconds, for the others.

    Raises ExchangeError when they cannot be reached.
    """
    limit = timedelta(seconds=timeout)
    try:
        if all(name in os.environ for name in LAUNCHED):
            dist.init_process_group(backend, timeout=limit)
        else:
            dist.init_process_group(backend, store=HashStore(), rank=0, world_size=1)
    except (RuntimeError, ValueError) as error:
        raise ExchangeError(
            f"the ranks do not come together: {str(error).splitlines()[0]}; start them with torchrun"
        ) from None
    try:
        yield dist.get_rank(), dist.get_world_size()
    finally:
        dist.destroy_process_group()
