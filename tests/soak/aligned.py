"""Damaged traces with a known truth, as JSON: `python -m soak.aligned --seed TEXT --count N`."""

from __future__ import annotations

import argparse
import json
import time
from collections import Counter
from random import Random

from drawing.aligning import disagreements, given_right


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


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m soak.aligned", description=__doc__)
    parser.add_argument("--seed", required=True)
    parser.add_argument("--count", type=int, default=5_000)
    options = parser.parse_args()
    print(json.dumps(aligned(options.seed, options.count)))


if __name__ == "__main__":
    main()
