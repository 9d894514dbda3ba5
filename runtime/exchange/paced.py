"""A link that is no faster than it is told: so that exchanges take long enough to be seen on a CPU.

It says in its name that it is paced. Messages go out one behind the other, as on one cable; waiting for
one is to sleep, so it needs no core.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

from torch import Tensor

from plait.runtime.exchange.link import Link


class Carried(NamedTuple):
    """One message. Nanoseconds of `time.perf_counter_ns`."""

    sent: int
    due: int
    bytes: int


class PacedLink:
    def __init__(self, link: Link, rate: float):
        """`rate` is in bytes a second, of what this rank sends."""
        self.link = link
        self.rate = rate
        self.name = f"{link.name}, paced to {rate / 1e6:g} MB/s"
        self.ranks = link.ranks
        self.rank = link.rank
        self.carried: list[Carried] = []
        self._free = 0

    def start(
        self, into: Tensor, message: Tensor, counts: Sequence[Sequence[int]] | None = None
    ) -> Callable[[], object]:
        now = time.perf_counter_ns()
        self._free = max(now, self._free) + int(message.nbytes / self.rate * 1e9)
        one = Carried(now, self._free, message.nbytes)
        self.carried.append(one)
        arrive = self.link.start(into, message, counts)

        def wait() -> None:
            arrive()
            left = (one.due - time.perf_counter_ns()) / 1e9
            if left > 0:
                time.sleep(left)

        return wait
