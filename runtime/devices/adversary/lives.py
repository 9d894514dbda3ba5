"""When memory holds nothing that anybody may read, and is filled with what nobody should.

A buffer of a round's own lives from its first access there to its last. Before the first round, and
behind the last access of each, what lies in it is poison: whoever reads it too early, or too late, has no
value of an earlier round that looks right. Rows past the live ones are poison to each phase that reads
them: `rows.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from random import Random
from typing import TYPE_CHECKING, Any

import torch

from plait.runtime.devices.adversary.declared import filled, loads_of, scratch_of
from plait.runtime.devices.adversary.poison import poison_all
from plait.runtime.devices.tensors import tensors_of
from plait.runtime.schedule import Schedule
from plait.runtime.schedule_memory import rooms

if TYPE_CHECKING:
    from plait.runtime.devices.adversary.calls import Call


class Lives:
    def __init__(self, random: Random, poisons: bool):
        self.talking: dict[int, list[Call]] = {}
        """Calls in flight on the communicator of every group."""
        self.sizes: tuple[Mapping[str, int], ...] = ()
        """Of the round that is issued and of those before, the newest first: live rows of every dim."""
        self._random = random
        self._poisons = poisons
        self._mortal: frozenset[int] = frozenset()
        self._near: dict[int, list[int]] = {}
        """Buffers that share memory with one."""
        self._left = -1
        """The newest round that is issued whole."""
        self._waiting: dict[tuple[int, int], int] = {}
        """Of a buffer in a round, how many accesses are issued and not over."""
        self._views: dict[tuple[int, int], list[torch.Tensor]] = {}
        self._clock = 0
        self._begun: dict[int, int] = {}
        self._over: dict[int, int] = {}
        self._met: set[int] = set()
        """Those with memory of their own, that was poisoned before the first access, or is filled there."""

    def sized(self, sizes: Iterable[Mapping[str, int]]) -> None:
        if self._poisons:
            self.sizes = tuple(sizes)

    def told(self, schedule: Schedule) -> None:
        self._mortal = mortal(schedule) if self._poisons else frozenset()
        phases = schedule.phases
        self._met = {a.buffer for one in phases for a in one.arguments if filled(schedule, one, a)}
        sizes = rooms(schedule)
        shared = [(n, b.offset) for n, b in enumerate(schedule.buffers) if b.offset is not None]
        self._near = {
            one: [
                other
                for other, from_ in shared
                if other != one and from_ < at + sizes[one] and at < from_ + sizes[other]
            ]
            for one, at in shared
        }

    def token(self, memory: torch.Tensor) -> torch.Tensor:
        """Bytes that only one call has, laid into scratch memory for as long as it uses it."""
        made = torch.empty_like(memory, memory_format=torch.contiguous_format)
        width = made.element_size()
        flat = made.view(-1).view(torch.uint8)
        word = torch.frombuffer(bytearray(self._random.randbytes(width)), dtype=torch.uint8)
        flat.copy_(word.repeat(flat.numel() // width))
        memory.copy_(made)
        return memory.clone(memory_format=torch.contiguous_format)

    def issued(self, call: Call) -> None:
        for number, value in self._of(call):
            key = number, call.round
            self._waiting[key] = self._waiting.get(key, 0) + 1
            views = tensors_of(value)
            self._views.setdefault(key, []).extend(views)
            if number not in self._met and number not in self._near:
                self._met.add(number)
                poison_all(views)

    def begun(self, call: Call) -> None:
        self._clock += 1
        for number, _ in self._of(call):
            self._begun[number] = self._clock

    def ended(self, call: Call) -> None:
        self._clock += 1
        for number, _ in self._of(call):
            key = number, call.round
            self._over[number] = self._clock
            if key not in self._waiting:
                continue
            self._waiting[key] -= 1
            if not self._waiting[key] and call.round <= self._left:
                self._end(key)

    def dropped(self, call: Call) -> None:
        """It leaves nothing behind: what it was to touch is left as it is."""
        for number, _ in self._of(call):
            key = number, call.round
            self._waiting.pop(key, None)
            self._views.pop(key, None)

    def left(self, round: int) -> None:
        """A round is issued whole: what has been over in it until now is over."""
        self._left = round
        for key in [key for key, count in self._waiting.items() if not count]:
            self._end(key)

    def _end(self, key: tuple[int, int]) -> None:
        del self._waiting[key]
        views = self._views.pop(key)
        number, _ = key
        near = (number, *self._near.get(number, ()))
        if all(self._begun.get(one, 0) < self._over[number] for one in near):
            poison_all(views)  # else its next life, or another's, has begun

    def _of(self, call: Call) -> Iterator[tuple[int, Any]]:
        for name, value in call.job.keywords.items():
            access = call.declared.accesses.get(name)
            if access is not None and access.buffer in self._mortal:
                yield access.buffer, value


def mortal(schedule: Schedule) -> frozenset[int]:
    """Buffers of which nothing is left behind a round, and that no one outside reads."""
    arguments = [argument for phase in schedule.phases for argument in phase.arguments]
    read = {a.buffer for a in arguments if a.kind != "writes"}
    kept = {a.buffer for a in arguments if a.rounds_back} | scratch_of(schedule)
    unsure = {name for (name, _), reads in loads_of(schedule).items() if reads is None}
    for capture in schedule.captures:
        if f"load {capture.name}" in unsure:
            kept |= {number for number, _ in capture.copied_in}
    return frozenset(
        number
        for number, buffer in enumerate(schedule.buffers)
        if not (buffer.carried or buffer.task or buffer.opaque)
        and (buffer.copies, buffer.memory) == (1, "device")
        and number in read - kept
    )
