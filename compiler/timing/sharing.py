"""How work that runs at once shares what it needs: each as fast as any other, until something is full.

An operation at full speed takes shares of resources, in thousandths: of the cube cores, the memory's
bandwidth, a link. All that run are sped up alike until a resource is full; those that use it stay at that
speed, and the others go on, up to full speed. That is max-min fairness, as in Bertsekas and Gallager,
Data Networks, 6.5.2.

Speeds are worked out exactly and then rounded down to whole parts of `FULL`, at least one, so that a
simulation is exact and the same everywhere.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

FULL = 1 << 20
"""The speed of an operation that has all it needs."""
WHOLE = 1000
"""All of a resource."""

Uses = tuple[tuple[int, int], ...]
"""Resources by number, each with the share that is used at full speed, from 1 to `WHOLE`."""


@lru_cache(maxsize=4096)
def speeds(running: tuple[Uses, ...]) -> tuple[int, ...]:
    """Of every operation, in parts of `FULL`. O(operations x resources); few kinds ever run at once."""
    found = [FULL] * len(running)
    taken: dict[int, int] = {}
    for uses in running:
        for resource, share in uses:
            taken[resource] = taken.get(resource, 0) + share
    free = dict.fromkeys(taken, Fraction(WHOLE))
    rising = {number for number, uses in enumerate(running) if uses}
    while rising:
        level, full = min((free[one] / taken[one], one) for one in taken if taken[one])
        if level >= 1:
            break
        for number in [
            number for number in rising if any(one == full for one, _ in running[number])
        ]:
            found[number] = max(int(level * FULL), 1)
            rising.discard(number)
            for resource, share in running[number]:
                taken[resource] -= share
                free[resource] -= share * level
    return tuple(found)
