"""All judges over many random rounds and every edit of the examples, as JSON: `python -m oracles`."""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path

from oracles.mutation import cases, tried
from oracles.soundness import soundness


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m oracles", description=__doc__)
    parser.add_argument("--seed", required=True)
    parser.add_argument("--rounds", type=int, default=50_000, help="random rounds")
    options = parser.parse_args()
    start = time.process_time()
    seen = soundness(options.seed, options.rounds)
    rounds = {
        "what": "random rounds",
        "tried": seen.rounds,
        "passed": seen.rounds - seen.refused - len(seen.failures),
        "refused": seen.refused,
        "disagreed": seen.failures,
        "seconds": time.process_time() - start,
    }
    start = time.process_time()
    every = list(cases())
    with tempfile.TemporaryDirectory() as folder:
        found = tried(every, Path(folder), options.seed)
    passed = found.counts.pop("passes")
    edits = {
        "what": "edits of the examples and the standard modules",
        "tried": len(every),
        "passed": passed,
        "refused": found.counts.total(),
        "disagreed": found.disagreed,
        "seconds": time.process_time() - start,
    }
    print(json.dumps([rounds, edits]))


if __name__ == "__main__":
    main()
