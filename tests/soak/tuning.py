"""The search for better schedules beside all schedules there are, of many small random rounds."""

from __future__ import annotations

import time
from random import Random

from drawing.tunable import compared
from soak.table import table


def searches(seed: str, count: int) -> dict:
    """How many of them found the best, and by how much the others missed it, as JSON may hold it."""
    start = time.process_time()
    found = [compared(Random(f"{seed} tune {number}")) for number in range(count)]
    gaps = sorted((float(one.gap) for one in found if one.gap), reverse=True)
    return {
        "tried": count,
        "texts": sum(one.texts for one in found),
        "improved": sum(one.found < one.start for one in found),
        "reached": count - len(gaps),
        "gaps": gaps,
        "above": sum(one.bound > one.least + 1 for one in found),
        "seconds": time.process_time() - start,
    }


def searched_table(found: dict) -> str:
    worst = f"{100 * found['gaps'][0]:.1f} %" if found["gaps"] else "none"
    says = (
        "Random rounds of two or three phases, of which every schedule that moves lead to is priced;",
        "moves are of one or two sorts, and edges. The search begins at the worst and may look at half.",
    )
    head = (
        "rounds",
        "schedules",
        "made better",
        "the best found",
        "largest gap",
        "processor time",
    )
    row = (
        f"{found['tried']:,}",
        f"{found['texts']:,}",
        f"{found['improved']:,}",
        f"{found['reached']:,}",
        worst,
        f"{found['seconds']:.0f} s",
    )
    return table(says, head, [row])
