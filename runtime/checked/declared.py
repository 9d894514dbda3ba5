"""What a phase declares, as bytes: which it may read, which it may change, and whose all others are."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import torch

from plait.runtime.checked.extent import Extent, both, extent, meet
from plait.runtime.schedule import Kind


class CheckError(RuntimeError):
    """A phase does what its text does not say: what, and what to declare."""


@dataclass(frozen=True)
class Access:
    """One argument of a phase: the buffer, how it is declared, its tensors and all their bytes."""

    buffer: str
    kind: Kind
    tensors: tuple[torch.Tensor, ...]
    extent: Extent


class Buffers:
    """Whose memory an address is."""

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._runs: list[tuple[int, int, str]] = []

    def add(self, name: str, tensors: Iterable[torch.Tensor]) -> None:
        for tensor in tensors:
            for start, end in extent(tensor):
                place = bisect_right(self._starts, start)
                if place and self._runs[place - 1] == (start, end, name):
                    continue
                self._starts.insert(place, start)
                self._runs.insert(place, (start, end, name))

    def owner(self, part: Extent) -> str | None:
        """The buffer that has some byte of these."""
        for start, end in part:
            place = bisect_right(self._starts, start)
            before = self._runs[max(place - 64, 0) : place]  # regions of a buffer lie in each other
            for first, last, name in [*reversed(before), *self._runs[place : place + 1]]:
                if first < end and start < last:
                    return name
        return None


@dataclass
class Declared:
    """The accesses of a phase, as it is bound."""

    name: str
    accesses: list[Access]
    reads: Extent = field(init=False)
    """What may be read before it is written."""
    changes: Extent = field(init=False)

    def __post_init__(self) -> None:
        self.reads = self.changes = ()
        for one in self.accesses:
            if one.kind != "writes":
                self.reads = both(self.reads, one.extent)
            if one.kind != "reads":
                self.changes = both(self.changes, one.extent)

    def wrong(self, verb: str, part: Extent, buffers: Buffers) -> str | None:
        """What is wrong with touching these bytes; None where they are no buffer's."""
        for one in self.accesses:
            if meet(part, one.extent):
                if verb == "reads" and one.kind == "writes":
                    return f"reads `{one.buffer}` before it has written it; declare `updates {one.buffer}`"
                if verb == "changes" and one.kind == "reads":
                    return f"changes `{one.buffer}`, which it only reads; declare `updates {one.buffer}`"
        owner = buffers.owner(part)
        if owner is None:
            return None
        word = "reads" if verb == "reads" else "updates"
        if any(one.buffer == owner for one in self.accesses):
            return f"{verb} `{owner}` outside of what it declares of it; declare `{word}` of all it touches"
        return f"{verb} `{owner}`, which it does not declare; declare `{word} {owner}`"


def access(buffer: str, kind: Kind, tensors: list[Any]) -> Access:
    found: Extent = ()
    for tensor in tensors:
        found = both(found, extent(tensor))
    return Access(buffer, kind, tuple(tensors), found)
