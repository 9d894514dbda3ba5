"""Timings in turns, so that both sides meet the same noise."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass


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

    def __str__(self) -> str:
        low, high = self.spread
        return (
            f"{self.name}: {self.ratio:.2f} x (quartiles {low:.2f} to {high:.2f}, {self.turns} turns; "
            f"{self.ours:.3g} against {self.peer:.3g} {self.unit})"
        )


def timed(call: Callable[[], object]) -> float:
    """Seconds."""
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def paired(
    name: str,
    ours: Callable[[], float],
    peer: Callable[[], float],
    turns: int,
    unit: str = "s",
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
    quartiles = statistics.quantiles(ratios, n=4)
    return Pair(
        name,
        unit,
        statistics.median(a for a, _ in pairs),
        statistics.median(b for _, b in pairs),
        quartiles[1],
        (quartiles[0], quartiles[2]),
        turns,
    )
