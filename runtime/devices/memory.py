"""Intermediates of a captured graph share memory: what is read for the last time makes room.

Depends on torch and the standard library alone: a schedule emitted as Python carries this file.

A graph whose every intermediate has memory of its own writes to cold memory at every kernel. Here each
gets the lowest place that is free from its first kernel to its last, so a segment of hundreds of
kernels works within some tens of kilobytes. Graphs of one pool, of which no two are in flight at once,
work within the same bytes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch

from plait.runtime.devices.recording import Kernel, storage_of, tensors_in

ALIGNMENT = 64
"""Bytes: a cache line, and what vector kernels like."""


class Pool:
    """Memory for the intermediates of graphs of which no two are in flight at once.

    It is what the largest of them needs if that one comes first. A larger one that comes later gets
    memory of its own, and those after it have that.
    """

    def __init__(self) -> None:
        self.block = _block(0)

    def room(self) -> Room:
        """For one graph more."""
        return Room(self)


class Room:
    """A pool's block for one graph, which becomes the pool's own only when the graph is one."""

    def __init__(self, pool: Pool) -> None:
        self.pool = pool
        self.block = pool.block

    def __call__(self, size: int) -> torch.UntypedStorage:
        if size > self.block.nbytes():
            self.block = _block(size)
        return self.block

    def keep(self) -> int:
        """The bytes that are new in the pool."""
        new = 0 if self.block is self.pool.block else self.block.nbytes()
        self.pool.block = self.block
        return new


def _block(size: int) -> torch.UntypedStorage:
    return torch.zeros(size, dtype=torch.uint8).untyped_storage()


def compacted(
    kernels: list[Kernel],
    intermediates: set[int],
    room: Callable[[int], torch.UntypedStorage] = _block,
) -> list[Kernel]:
    """The same kernels with their intermediates, given by their storages, packed into one block.

    Every intermediate must be written by a kernel before one reads it. `room` gives the bytes.
    """
    lives = _lives(kernels, intermediates)
    places, size = _places(lives)
    block = room(size)

    def moved(value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            place = places.get(storage_of(value))
            if place is None:
                return value
            offset = place // value.element_size() + value.storage_offset()
            made = torch.empty(0, dtype=value.dtype)
            made.set_(block, offset, value.shape, value.stride())  # type: ignore[arg-type]
            made = made.conj() if value.is_conj() else made
            return torch.ops.aten._neg_view(made) if value.is_neg() else made
        if isinstance(value, dict):
            return {key: moved(item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return (list if isinstance(value, list) else tuple)(moved(item) for item in value)
        return value

    return [
        replace(
            kernel,
            arguments=moved(kernel.arguments),
            into=moved(kernel.into),
            quick=None if kernel.quick is None else (kernel.quick[0], *moved(kernel.quick[1:])),
        )
        for kernel in kernels
    ]


def _lives(kernels: list[Kernel], intermediates: set[int]) -> dict[int, tuple[int, int, int]]:
    """Of every storage: bytes, and the first and last kernel that touch it."""
    lives: dict[int, tuple[int, int, int]] = {}
    for number, kernel in enumerate(kernels):
        for tensor in tensors_in((*kernel.arguments, *kernel.into)):
            storage = storage_of(tensor)
            if storage in intermediates:
                _, first, _ = lives.get(storage, (0, number, 0))
                lives[storage] = tensor.untyped_storage().nbytes(), first, number
    return lives


def _places(lives: dict[int, tuple[int, int, int]]) -> tuple[dict[int, int], int]:
    """The lowest free place of each, in the order in which they come to life; and the size of all."""
    places: dict[int, int] = {}
    held: list[tuple[int, int, int]] = []  # from, up to, last kernel
    top = 0
    for storage, (size, first, last) in sorted(lives.items(), key=lambda life: life[1][1]):
        held = sorted(one for one in held if one[2] >= first)
        room = -(-size // ALIGNMENT) * ALIGNMENT
        place = 0
        for start, end, _ in held:
            if start - place >= room:
                break
            place = max(place, end)
        places[storage] = place
        held.append((place, place + room, last))
        top = max(top, place + room)
    return places, top
