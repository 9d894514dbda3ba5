"""What carries messages between ranks: whole, or sent now and waited for later.

`carry` is also an operator of torch, `plait::carry`, so that a captured graph on the CPU can hold it.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from itertools import count
from typing import Any, Protocol

import torch
import torch.distributed as dist
from torch import Tensor


class Link(Protocol):
    name: str
    ranks: int
    rank: int

    def start(
        self, into: Tensor, message: Tensor, counts: Sequence[Sequence[int]] | None = None
    ) -> Callable[[], object]:
        """Sends; the callable waits until all has arrived in `into`.

        Equal parts to and from every rank, or as many rows as `counts` says: from each, to each.
        """
        ...


class GroupLink:
    """A process group of torch.distributed: gloo, NCCL or HCCL."""

    def __init__(self, group: Any = None):
        self.group = dist.group.WORLD if group is None else group
        self.name = str(dist.get_backend(self.group))
        self.ranks = dist.get_world_size(self.group)
        self.rank = dist.get_rank(self.group)

    def start(
        self, into: Tensor, message: Tensor, counts: Sequence[Sequence[int]] | None = None
    ) -> Callable[[], object]:
        arriving, leaving = (None, None) if counts is None else map(list, counts)
        work = dist.all_to_all_single(
            into, message, arriving, leaving, group=self.group, async_op=True
        )
        assert work is not None
        return work.wait


class LoneLink:
    """One rank by itself: what it sends is what arrives."""

    name = "one rank"
    ranks = 1
    rank = 0

    def start(
        self, into: Tensor, message: Tensor, counts: Sequence[Sequence[int]] | None = None
    ) -> Callable[[], object]:
        into.copy_(message)
        return lambda: None


def carry(link: Link, message: Tensor) -> Tensor:
    """What arrives when every rank sends a message of this size in equal parts."""
    into = torch.empty_like(message)
    torch.ops.plait.carry(into, message, number_of(link))
    return into


_links: weakref.WeakValueDictionary[int, Any] = weakref.WeakValueDictionary()
_numbers: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()
_next = count()


def number_of(link: Link) -> int:
    """By which the operator knows a link, for operators take no objects."""
    if link not in _numbers:
        _numbers[link] = number = next(_next)
        _links[number] = link
    return _numbers[link]


@torch.library.custom_op("plait::carry", mutates_args=("into",))
def _carry(into: Tensor, message: Tensor, link: int) -> None:
    _links[link].start(into, message)()
