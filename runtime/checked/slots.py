"""Pools that hold so many values: each lives from its write to its last read."""

from __future__ import annotations

import threading

from plait.runtime.checked.declared import CheckError
from plait.runtime.schedule import PHASE_OPS, Phase, Schedule


class Slots:
    def __init__(self, schedule: Schedule):
        self.schedule = schedule
        self._readers = _readers(schedule)
        self._alive: dict[int, dict[tuple[int, int], set[str]]] = {}
        """Of every pool, its values, by buffer and address, with the phases still to read them."""
        self._lock = threading.Lock()

    def begins(self, phase: Phase, addresses: dict[str, int]) -> None:
        """Raises CheckError when a value that the phase writes is one more than a pool holds."""
        for pool, key, readers in self._values(phase, "writes", addresses):
            with self._lock:
                alive = self._alive.setdefault(pool, {})
                alive[key] = set(readers)
                if len(alive) > (size := self.schedule.pools[pool].size or 0):
                    names = ", ".join(f"`{self.schedule.buffers[n].name}`" for n, _ in alive)
                    raise CheckError(
                        f"writes one value more than the pool `{self.schedule.pools[pool].name}` holds: "
                        f"{names} are alive at once, and it has {size}"
                    )

    def ends(self, phase: Phase, addresses: dict[str, int]) -> None:
        """What the phase was the last to read is over."""
        for kind in ("reads", "updates", "writes"):
            for pool, key, _ in self._values(phase, kind, addresses):
                with self._lock:
                    left = self._alive.get(pool, {}).get(key)
                    if left is not None:
                        left.discard(phase.name)
                        if not left:
                            del self._alive[pool][key]

    def _values(self, phase: Phase, kind: str, addresses: dict[str, int]):
        for argument in phase.arguments:
            pool = self.schedule.buffers[argument.buffer].pool
            if argument.kind == kind and pool is not None and self.schedule.pools[pool].size:
                key = argument.buffer, addresses[argument.name]
                yield pool, key, self._readers[argument.buffer]


def _readers(schedule: Schedule) -> list[frozenset[str]]:
    """Of every buffer, the phases that read it in every route that has any who does."""
    found: list[frozenset[str] | None] = [None] * len(schedule.buffers)
    for program in schedule.programs:
        numbers = [one.of for one in program if one.op in PHASE_OPS]
        here: dict[int, set[str]] = {}
        for number in numbers:
            for argument in schedule.phases[number].arguments:
                if argument.kind != "writes":
                    here.setdefault(argument.buffer, set()).add(schedule.phases[number].name)
        for buffer, names in here.items():
            known = found[buffer]
            found[buffer] = frozenset(names if known is None else known & names)
    return [one or frozenset() for one in found]
