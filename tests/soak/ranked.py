"""A server on two ranks of which one is killed, or told to end, at random: `python -m soak.ranked`."""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from plait.runtime.engine.prompt import Sampling
from plait.runtime.models.tiny.checkpoint import Checkpoint, load_checkpoint
from serving.load import Case, expected, load
from serving.ranks import ranks

EXAMPLE = str(Path(__file__).parents[2] / "examples" / "expert_parallel.spec")
ARGUMENTS = (EXAMPLE, "--mode", "exact")
SOON = 40
"""Seconds in which all is to be over."""
GONE = "rank 1 did not come"
SIGNALS = (signal.SIGKILL, signal.SIGTERM)


def soak(requests: int, repeats: int, seed: str) -> dict[str, Any]:
    """What was tried, and what was wrong with it."""
    checkpoint = load_checkpoint()
    drawn = random.Random(seed)
    wrong: list[str] = []
    fates: Counter[str] = Counter()
    began = time.perf_counter()
    for repeat in range(repeats):
        given = _cases(checkpoint, drawn, requests)
        told, rank = SIGNALS[repeat % 2], repeat // 2 % 2
        what = f"repeat {repeat}, {told.name} of rank {rank}"
        with tempfile.TemporaryDirectory() as folder:
            found = _ended(Path(folder, "ranks"), given, told, rank, drawn.randint(0, requests * 8))
        wrong += [f"{what}: {one}" for one in (*found, *_judged(checkpoint, given, told, rank))]
        fates.update("whole" if case.done else "part" if case.got else "none" for case in given)
        print(f"{what}: {len(wrong)} wrong", file=sys.stderr)
    return {
        "repeats": repeats,
        "asked": requests * repeats,
        "whole": fates["whole"],
        "part": fates["part"],
        "none": fates["none"],
        "seconds": time.perf_counter() - began,
        "wrong": wrong,
    }


def _cases(checkpoint: Checkpoint, drawn: random.Random, count: int) -> list[Case]:
    texts = [drawn.choice(checkpoint.prompts)[: drawn.randint(8, 60)] for _ in range(count)]
    return [
        Case(f"# {number}\n{text}", drawn.randint(4, 40), Sampling(0.0), None)
        for number, text in enumerate(texts)
    ]


def _ended(
    folder: Path, given: list[Case], told: signal.Signals, rank: int, letters: int
) -> list[str]:
    """Signals a rank once clients have so many letters; what is wrong with how it ends."""
    with ranks(folder, ARGUMENTS, ARGUMENTS) as found:
        port = found.wait_ready()

        async def work() -> None:
            loading = asyncio.ensure_future(load(port, list(given)))
            while sum(len(case.got) for case in given) < letters and not loading.done():
                await asyncio.sleep(0.005)
            found.processes[rank].send_signal(told)
            await loading

        asyncio.run(work())
        since = time.monotonic()
        codes = found.ends()
        took = time.monotonic() - since
    wanted = (
        [0, 0] if told is signal.SIGTERM else [-signal.SIGKILL if n == rank else 3 for n in (0, 1)]
    )
    wrong = [] if codes == wanted else [f"ended with {codes}: {found.errors}"]
    return wrong + ([f"took {took:.0f} s"] if took > SOON else [])


def _judged(
    checkpoint: Checkpoint, given: list[Case], told: signal.Signals, rank: int
) -> list[str]:
    wrong = []
    for case, tokens in zip(given, expected(checkpoint, given), strict=True):
        whole = checkpoint.tokenizer.decode(tokens)
        right = case.got == whole if case.done else whole.startswith(case.got)
        if not right:
            wrong.append(f"{case.text!r} gave {case.got!r}, not {whole!r}")
        if case.done == 1 and not case.problem:
            continue
        if told is signal.SIGTERM:
            # What has begun ends; who comes too late finds nobody, or is told that it ends.
            refused = ("status 503", "Connection")
            if case.got or not case.problem.startswith(refused):
                wrong.append(f"{case.text!r}: {case.problem}")
        elif rank == 1 and case.got and GONE not in case.problem:
            wrong.append(f"{case.text!r}: {case.problem}")
    return wrong


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m soak.ranked", description=__doc__)
    parser.add_argument("--requests", type=int, default=40, help="of a launch")
    parser.add_argument("--repeats", type=int, default=40, help="launches")
    parser.add_argument("--seed", default="0")
    options = parser.parse_args()
    found = soak(options.requests, options.repeats, options.seed)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
