"""A server under load, again and again, in a process of its own: `python -m soak.served`."""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from plait.runtime.models.tiny.checkpoint import load_checkpoint
from serving.load import CLIENTS, Case, cases, judge, left_behind, load
from serving.process import served

SETTLED = 3
"""Repeats after which memory is to stay as it is."""
GROWTH = 0.05
"""Share by which it may differ all the same."""


def soak(requests: int, repeats: int, seed: int, sample: int) -> dict[str, Any]:
    """What was tried, and what was wrong with it. Tokens are judged of every so-manieth request."""
    checkpoint = load_checkpoint()
    wrong: list[str] = []
    resident: list[int] = []
    read = left = 0
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        with served(Path(folder, "log"), "--mode", "exact") as server:
            for repeat in range(repeats):
                given = cases(checkpoint, requests, seed + repeat)
                asyncio.run(load(server.port, given))
                wrong += judge(checkpoint, given, sample) + left_behind(server)
                resident.append(server.resident())
                print(f"{resident[-1] >> 20} MiB, {len(wrong)} wrong", file=sys.stderr)
                read += sum(isinstance(one, Case) for one in given)
                left += sum(isinstance(one, Case) and one.leaves is not None for one in given)
            rounds = sum(n for name, n in server.metrics().items() if "plait_rounds_total" in name)
            if (code := server.end()) != 0:
                wrong.append(f"it has ended with {code}")
    if repeats > SETTLED and abs(resident[-1] / resident[SETTLED - 1] - 1) > GROWTH:
        wrong.append(f"memory after each repeat, in bytes: {resident}")
    return {
        "clients": CLIENTS,
        "asked": requests * repeats,
        "sound": read,
        "left": left,
        "rounds": round(rounds),
        "resident": resident,
        "settled": resident[min(SETTLED, repeats) - 1],
        "seconds": time.perf_counter() - began,
        "wrong": wrong,
    }


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m soak.served", description=__doc__)
    parser.add_argument("--requests", type=int, default=2_000, help="of a repeat")
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--sample", type=int, default=1, help="judge tokens of every so-manieth")
    options = parser.parse_args()
    found = soak(options.requests, options.repeats, options.seed, options.sample)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
