"""Bodies for every phase of a schedule: each output is made of all bytes of every input, and of the phase.

So whatever a phase should not have read, or not yet, changes all that comes after it. Numbers wrap around
as whole numbers of 64 bits; what is stored as a float is a small whole number, which every type holds.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from itertools import count, repeat
from math import prod
from typing import Any

import torch
from torch import Tensor

from plait.runtime.devices.adversary.declared import scratch_of
from plait.runtime.devices.adversary.poison import bits
from plait.runtime.schedule import Kind, Schedule

ODD = 0x5851F42D4C957F2D
"""Knuth's multiplier: as odd numbers do, it takes no two whole numbers to the same one."""
SEVERAL = 4
"""Numbers of an opaque buffer, along every axis that no region cuts."""

Read = dict[str, int]
"""Of every argument that a phase has read, its hash."""


class Mixing:
    """The bodies of a schedule, what stands for its opaque buffers, and what was read on the way.

    What a captured phase reads is noted only if `watched` says that graphs call its body again.
    """

    def __init__(self, schedule: Schedule, watched: bool = False):
        self.read: dict[str, list[Read]] = {}
        """By the name of a phase, what it read each time it ran."""
        scratch = scratch_of(schedule)
        captured = {phase.name for phase in schedule.phases if phase.capture is not None}
        kinds: dict[str, dict[frozenset[str], dict[str, Kind]]] = {}
        for phase in schedule.phases:
            given: dict[str, Kind] = {
                one.name: "writes" if one.buffer in scratch else one.kind for one in phase.arguments
            }
            kinds.setdefault(phase.name, {})[frozenset(given)] = given
        self.outside = frozenset(kinds) - captured
        """Phases that are in no graph on any route."""
        self._ramp = torch.arange(1 + _largest(schedule))
        self._weights = self._ramp * ODD | 1
        self.bodies: dict[str, Callable[..., None]] = {
            name: self._body(name, forms, name not in captured, watched)
            for name, forms in kinds.items()
        }
        shapes = _opaque_shapes(schedule)
        self.opaque = {name: _maker(shape) for name, shape in shapes.items()}

    def _body(
        self,
        name: str,
        forms: dict[frozenset[str], dict[str, Kind]],
        eager: bool,
        watched: bool,
    ) -> Callable[..., None]:
        """An eager phase mixes in how often it has run: a graph that does not call it could not."""
        noted = eager or watched
        salt = zlib.crc32(name.encode())
        times = count() if eager else repeat(0)
        if noted:
            self.read[name] = []

        def body(**given: Tensor) -> None:
            kinds = forms[frozenset(given)]
            mixed = torch.full((), salt + next(times), dtype=torch.int64)
            read = {}
            for argument, kind in sorted(kinds.items()):
                if kind != "writes":
                    read[argument] = found = self._hash(given[argument])
                    mixed = (mixed ^ found) * ODD
            if noted:
                self.read[name].append({argument: int(found) for argument, found in read.items()})
            for number, (argument, kind) in enumerate(sorted(kinds.items())):
                if kind != "reads":
                    self._fill(given[argument], mixed * (2 * number + 3))

        return body

    def _hash(self, value: Tensor) -> Tensor:
        words = bits(value).reshape(-1).to(torch.int64)
        found = ((words + 1) * self._weights[: words.numel()]).sum()
        return (found ^ (found >> 31)) * ODD

    def _fill(self, into: Tensor, mixed: Tensor) -> None:
        numbers = (self._ramp[: into.numel()] + mixed) * ODD
        numbers = (numbers ^ (numbers >> 29)).view(into.shape)
        if into.dtype.is_floating_point:
            numbers = (numbers >> 40) & 0xFF
        elif into.dtype == torch.bool:
            numbers = (numbers >> 40) & 1
        into.copy_(numbers)


def _largest(schedule: Schedule) -> int:
    """Numbers in the largest buffer."""
    shapes = [*schedule.largest(), *_opaque_shapes(schedule).values()]
    return max((prod(shape) for shape in shapes if shape), default=1)


def _opaque_shapes(schedule: Schedule) -> dict[str, tuple[int, ...]]:
    """Of every opaque buffer, a shape that all regions of it lie in."""
    found: dict[str, list[int]] = {
        buffer.name: [SEVERAL] for buffer in schedule.buffers if buffer.opaque
    }
    for bucket in schedule.buckets:
        for phase, regions in zip(schedule.phases, bucket.regions, strict=True):
            for argument, region in zip(phase.arguments, regions, strict=False):
                buffer = schedule.buffers[argument.buffer]
                if not buffer.opaque or region is None:
                    continue
                sizes = found[buffer.name]
                sizes += [SEVERAL] * (len(region) - len(sizes))
                for place, axis in enumerate(region):
                    if axis is not None:
                        end = axis[1] if isinstance(axis, tuple) else axis + 1
                        sizes[place] = max(sizes[place], end)
    return {name: tuple(sizes) for name, sizes in found.items()}


def _maker(shape: tuple[int, ...]) -> Callable[..., Tensor]:
    def make(**sizes: Any) -> Tensor:
        return torch.zeros(shape, dtype=torch.int64)

    return make
