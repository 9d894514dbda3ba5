"""Which phases slow each other down: pairs that took longer at once than alone, as shares of one resource."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median_low

from plait.compiler.calibrate.samples import Ran, alike
from plait.compiler.timing.sharing import WHOLE

FEWEST = 5
"""Samples of either sort."""
SLOWER = 1200
"""Thousandths of what it takes alone, from which on a phase is taken to be slowed down."""


def alone(samples: Sequence[Ran]) -> list[Ran]:
    """Those beside which nothing ran, or all where there are few of them."""
    found = [one for one in samples if not one.beside]
    return found if len(found) >= FEWEST else list(samples)


def slowed(phases: Sequence[Ran]) -> dict[tuple[str, str], int]:
    """Pairs of phases by name, and in thousandths how much longer both took at once, the less of the two."""
    found: dict[tuple[str, str], int] = {}
    for (phase, _, _), group in alike(phases).items():
        apart = [one.time for one in group if not one.beside]
        if len(apart) < FEWEST:
            continue
        for other in sorted({name for one in group for name in one.beside}):
            together = [one.time for one in group if other in one.beside]
            if len(together) >= FEWEST:
                ratio = median_low(together) * 1000 // max(median_low(apart), 1)
                found[phase, other] = max(found.get((phase, other), 0), ratio)
    return {
        (a, b): min(ratio, found[b, a])
        for (a, b), ratio in found.items()
        if a <= b and min(ratio, found.get((b, a), 0)) >= SLOWER
    }


def shares(pairs: Mapping[tuple[str, str], int]) -> dict[str, int]:
    """Of a resource that all of them share, in parts of `WHOLE`: two that each take half do not feel it.

    Two that take `a` and `b` at once run `a + b` times slower.
    """
    found: dict[str, int] = {}
    for pair, ratio in pairs.items():
        for name in pair:
            share = min(max(ratio * WHOLE // 2000, 1), WHOLE)
            found[name] = max(found.get(name, 0), share)
    return found
