"""Speculative against plain decoding of the same model, both captured, one request at a time.

Over 1.2 times in f32 is the aim. Held-out prompts, another one in each turn.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import torch

from plait.bench.paired import Pair
from plait.bench.speculation import speculated
from plait.compiler.compile import Asked, compile_source, read_source
from plait.runtime.devices.replayers import KINDS, VARIABLE
from plait.runtime.models.tiny.checkpoint import load_checkpoint

EXAMPLE = Path(__file__).parent.parent / "examples" / "eagle.spec"


def run(turns: int = 16) -> Iterator[Pair]:
    torch.set_num_threads(1)
    torch.set_grad_enabled(False)
    checkpoint = load_checkpoint()
    schedule = compile_source(read_source(EXAMPLE), Asked(environment={}))
    for kind in KINDS:
        os.environ[VARIABLE] = kind
        for mode in ("f32", "exact"):
            among = f" ({mode}, {kind} replay)"
            yield from speculated(checkpoint, schedule, (1,), turns, mode, among)
        del os.environ[VARIABLE]
