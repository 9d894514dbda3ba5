"""`assume disjoint`: parts of a buffer that the author vouches never meet, held to what a round touches."""

from __future__ import annotations

import threading

from plait.runtime.checked.declared import CheckError
from plait.runtime.checked.extent import Extent, both, meet
from plait.runtime.schedule import Phase, Region, Schedule

ROUNDS = 4
"""Kept beyond the newest."""


class Apart:
    def __init__(self, schedule: Schedule):
        self.schedule = schedule
        self.pairs = {pair for bucket in schedule.buckets for pair in bucket.disjoint}
        self._touched: dict[int, dict[tuple[int, Region], tuple[str, Extent]]] = {}
        """Of every round, by buffer and region, who came to what of it."""
        self._lock = threading.Lock()

    def vouched(self, phase: Phase, number: int) -> dict[str, set[Region]]:
        """Of a phase, by its number, the arguments that a pair has, with their regions in all buckets."""
        found: dict[str, set[Region]] = {}
        for bucket in self.schedule.buckets:
            for argument, region in zip(phase.arguments, bucket.regions[number], strict=False):
                if any(
                    argument.buffer == buffer and region in (a, b) for buffer, a, b in self.pairs
                ):
                    found.setdefault(argument.name, set()).add(region)
        return found

    def came(self, phase: str, round: int, buffer: int, regions: set[Region], part: Extent) -> None:
        """Raises CheckError when the other side of a pair has come to the same bytes in that round."""
        with self._lock:
            here = self._touched.setdefault(round, {})
            for old in [one for one in self._touched if one < round - ROUNDS]:
                del self._touched[old]
            for region in regions:
                for pair in self.pairs:
                    if pair[0] != buffer or region not in pair[1:]:
                        continue
                    other = pair[2] if region == pair[1] else pair[1]
                    name, their = here.get((buffer, other), ("", ()))
                    if meet(part, their):
                        what = self.schedule.buffers[buffer].name
                        raise CheckError(
                            f"comes to what `{name}` has come to of `{what}` in this round, though the two "
                            "are assumed disjoint; order them by an edge, or see to it that they are"
                        )
                _, before = here.get((buffer, region), ("", ()))
                here[buffer, region] = phase, both(before, part)
