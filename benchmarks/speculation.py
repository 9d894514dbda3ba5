"""Speculative against plain decoding of the same model, both captured, one request at a time.

Over 1.2 times in f32 is the aim. Held-out prompts, 64 new tokens each, as `plait run` does it.
"""

from __future__ import annotations

import os
import statistics
from collections.abc import Iterator
from pathlib import Path

import torch

from benchmarks.paired import Pair
from plait.compiler.compile import Asked, compile_source, read_source
from plait.runtime.devices.replayers import KINDS, VARIABLE
from plait.runtime.eagle.compare import decode, report, requests_for
from plait.runtime.models.tiny.checkpoint import load_checkpoint

EXAMPLE = Path(__file__).parent.parent / "examples" / "eagle.spec"


def run(turns: int = 16) -> Iterator[Pair]:
    torch.set_num_threads(1)
    checkpoint = load_checkpoint()
    schedule = compile_source(read_source(EXAMPLE), Asked(environment={}))
    for kind in KINDS:
        os.environ[VARIABLE] = kind
        for mode in ("f32", "exact"):
            model = checkpoint.model(mode)
            found = []
            for turn in range(turns):
                prompt = checkpoint.prompts[turn % len(checkpoint.prompts)]
                outcome = decode(
                    schedule, model, lambda prompt=prompt: requests_for(checkpoint, [prompt], 64)
                )
                found.append(report(outcome, schedule, checkpoint, mode))
            ratios = sorted(one["speedup"] for one in found)
            low, middle, high = statistics.quantiles(ratios, n=4)
            yield Pair(
                f"tokens/s speculative / plain ({mode}, {kind} replay)",
                "tokens/s",
                statistics.median(one["tokens_per_s"] for one in found),
                statistics.median(one["plain_tokens_per_s"] for one in found),
                middle,
                (low, high),
                turns,
            )
        del os.environ[VARIABLE]
