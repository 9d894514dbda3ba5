"""Timings in turns, so that both sides meet the same noise."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Pair:
    name: str
    unit: str
    ours: float
    """Median."""
    peer: float
    ratio: float
    """Median of the ratios of each turn: ours over the peer's."""
    spread: tuple[float, float]
    """Quartiles of those ratios."""
    turns: int
    most: float | None = None
    """What the ratio may be, where that is said."""
    least: float | None = None

    @property
    def holds(self) -> bool:
        """Whether the ratio is what it is to be."""
        return (self.least or 0) <= self.ratio <= (self.most or float("inf"))

    def __str__(self) -> str:
        low, high = self.spread
        return (
            f"{self.name}: {self.ratio:.2f} x{self._aim} (quartiles {low:.2f} to {high:.2f},"
            f" {self.turns} turns; {self.ours:.3g} against {self.peer:.3g} {self.unit})"
        )

    def as_data(self) -> dict[str, Any]:
        """As JSON values."""
        held = {} if self.most is None and self.least is None else {"holds": self.holds}
        return {**asdict(self), "spread": list(self.spread), **held}

    @property
    def _aim(self) -> str:
        words = "holds" if self.holds else "does NOT hold"
        if self.most is not None:
            return f", at most {self.most:g} {words}"
        return "" if self.least is None else f", at least {self.least:g} {words}"


def timed(call: Callable[[], object]) -> float:
    """Seconds."""
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def spent(call: Callable[[], object]) -> float:
    """Seconds of the processor, which others on the machine do not lengthen."""
    start = time.process_time()
    call()
    return time.process_time() - start


def paired(
    name: str,
    ours: Callable[[], float],
    peer: Callable[[], float],
    turns: int,
    unit: str = "s",
    most: float | None = None,
    least: float | None = None,
) -> Pair:
    """Each call measures one turn itself and returns the figure."""
    pairs = []
    for turn in range(turns):
        if turn % 2:
            other = peer()
            pairs.append((ours(), other))
        else:
            pairs.append((ours(), peer()))
    ratios = sorted(a / b for a, b in pairs)
    quartiles = statistics.quantiles(ratios, n=4) if turns > 1 else ratios * 3
    return Pair(
        name,
        unit,
        statistics.median(a for a, _ in pairs),
        statistics.median(b for _, b in pairs),
        quartiles[1],
        (quartiles[0], quartiles[2]),
        turns,
        most,
        least,
    )
