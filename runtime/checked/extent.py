"""Which bytes a tensor stands for: runs from and up to an address, in order, that do not touch."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from itertools import product
from typing import TypeAlias

import torch

Extent: TypeAlias = "tuple[tuple[int, int], ...]"
MOST_RUNS = 1 << 16
"""A tensor in more pieces counts as all that lies between its first and its last byte."""


def extent(tensor: torch.Tensor) -> Extent:
    size = tensor.element_size()
    axes = [(n, step * size) for n, step in zip(tensor.shape, tensor.stride(), strict=True)]
    return extent_of(tensor.data_ptr(), size, axes)


def extent_of(start: int, size: int, axes: Iterable[tuple[int, int]]) -> Extent:
    """Of elements of `size` bytes, given how many there are along each axis and how many bytes apart."""
    run, apart, pieces = size, [], 1
    for count, step in sorted(axes, key=lambda axis: axis[1]):
        if count == 0:
            return ()
        if count == 1 or step == 0:
            continue
        if step == run and not apart:
            run *= count
        else:
            apart.append((count, step))
            pieces *= count
    if pieces > MOST_RUNS:
        return ((start, start + run + sum((count - 1) * step for count, step in apart)),)
    offsets = product(*(range(0, count * step, step) for count, step in apart))
    return joined((start + sum(one), start + sum(one) + run) for one in offsets)


def joined(runs: Iterable[tuple[int, int]]) -> Extent:
    found: list[tuple[int, int]] = []
    for start, end in sorted(runs):
        if found and start <= found[-1][1]:
            found[-1] = found[-1][0], max(end, found[-1][1])
        else:
            found.append((start, end))
    return tuple(found)


def both(a: Extent, b: Extent) -> Extent:
    return joined((*a, *b))


def within(a: Extent, b: Extent) -> bool:
    """Whether every byte of one is in the other."""
    return all(_holds(b, run) for run in a)


def meet(a: Extent, b: Extent) -> bool:
    """Whether they have a byte in common."""
    short, long = (a, b) if len(a) < len(b) else (b, a)
    return any(_touches(long, run) for run in short)


def _holds(runs: Extent, run: tuple[int, int]) -> bool:
    place = bisect_right(runs, run[0], key=lambda one: one[0]) - 1
    return place >= 0 and run[1] <= runs[place][1]


def _touches(runs: Extent, run: tuple[int, int]) -> bool:
    place = bisect_right(runs, run[0], key=lambda one: one[0]) - 1
    before = place >= 0 and run[0] < runs[place][1]
    return before or (place + 1 < len(runs) and runs[place + 1][0] < run[1])
