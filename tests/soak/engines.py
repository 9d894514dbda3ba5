"""Engines that requests come to and leave at random, with faults and swaps: `python -m soak.engines`."""

from __future__ import annotations

import time
from collections import Counter
from typing import Any

from hypothesis import HealthCheck, given, seed, settings

from drawing.serving import PLAYS, play
from soak.apart import main


def played(start: str, count: int) -> dict[str, Any]:
    """So many engines: how requests ended, and what did not hold."""
    began = time.process_time()
    ends: Counter[str] = Counter()
    tried = [0]

    @seed(start)
    @settings(
        max_examples=count,
        deadline=None,
        database=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )
    @given(**PLAYS)
    def each(**drawn: Any) -> None:
        tried[0] += 1
        ends.update(play(**drawn))

    failures = []
    try:
        each()
    except Exception as error:
        failures.append(f"{type(error).__name__}: {error}")
    return {
        "tried": tried[0],
        "ends": {str(end): times for end, times in sorted(ends.items())},
        "failures": failures,
        "seconds": time.process_time() - began,
    }


if __name__ == "__main__":
    main("soak.engines", __doc__, played, "count", 2_000)
