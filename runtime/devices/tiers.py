"""Several ways to launch captured kernels again as one: what the best cannot take over, the next does."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Sequence

from plait.runtime.devices.graph import Replayer
from plait.runtime.devices.recording import Kernel

log = logging.getLogger("plait")


class NotHere(Exception):
    """There is no such way to launch kernels on this machine, and why."""


class NotTaken(Exception):
    """A way to launch kernels cannot launch one of these: which, and why."""


class Tiers:
    """A replayer made of several, the best first. The last takes everything."""

    def __init__(self, tiers: Sequence[Replayer]):
        self.tiers = tuple(tiers)
        self._fallen: Counter[str] = Counter()
        """Graphs that another than the first took, by its kind."""
        self._graphs = 0

    @property
    def kind(self) -> str:
        fallen = [f"{n} of {self._graphs} graphs {kind}" for kind, n in self._fallen.items()]
        return "; ".join([self.tiers[0].kind, *fallen])

    def function(self, kernels: list[Kernel]) -> Callable[[], object]:
        self._graphs += 1
        for tier in self.tiers[:-1]:
            try:
                made = tier.function(kernels)
            except NotTaken as error:
                log.info("a graph is no %s: %s", tier.kind, error)
            else:
                break
        else:
            tier = self.tiers[-1]
            made = tier.function(kernels)
        if tier is not self.tiers[0]:
            self._fallen[tier.kind] += 1
        return made
