"""Continues texts by rounds that look up what they draft."""

from __future__ import annotations

from plait.runtime.eagle.paged import Paged
from plait.runtime.eagle.sizes import width_of
from plait.runtime.eagle.speculative import Bound
from plait.runtime.lookup.decoder import LookupDecoder
from plait.runtime.models.target import Target
from plait.runtime.schedule import Schedule


class LookedUp(Paged):
    """As `Paged`."""

    def most_of(self, schedule: Schedule) -> int:
        return width_of(schedule, "tree")

    def _bound(self, schedule: Schedule, model: Target, span: int) -> Bound:
        self.decoder = LookupDecoder(schedule, model)
        self._entered = set()
        return self.decoder


def is_lookup(schedule: Schedule) -> bool:
    return any(phase.body == "remember" for phase in schedule.phases)
