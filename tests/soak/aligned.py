"""Damaged traces with a known truth, as JSON: `python -m soak.aligned --seed TEXT --count N`."""

from __future__ import annotations

import time
from collections import Counter
from random import Random

from drawing.aligning import disagreements, given_right
from soak.apart import main


def aligned(seed: str, count: int) -> dict:
    """How many of the kernels that survive were given to their node, and what was said that is not so."""
    chance = Random(seed)
    found: Counter[str] = Counter()
    wrong = []
    start = time.process_time()
    for _ in range(count):
        one = chance.getrandbits(40)
        found.update(given_right(Random(one)))
        wrong += [f"trace {one}: {text}" for text in disagreements(Random(one), damage=True)]
        wrong += [f"whole trace {one}: {text}" for text in disagreements(Random(one), damage=False)]
    return {
        "tried": count,
        "surviving": found["surviving"],
        "right": found["right"],
        "wrong": wrong,
        "seconds": time.process_time() - start,
    }


if __name__ == "__main__":
    main("soak.aligned", __doc__, aligned, "count", 5_000)
