"""Replay of a captured segment against its phases run eagerly: the captures of the embedded model's round.

One to four requests, f32. At least 1.5 times is the aim without Python's lock, 1.1 from Python.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import torch

from plait.bench.paired import Pair
from plait.bench.replay import replayed
from plait.compiler.compile import Asked, compile_source, read_source
from plait.runtime.devices.replayers import KINDS, here
from plait.runtime.devices.tiers import NotHere
from plait.runtime.models.tiny.checkpoint import load_checkpoint

EXAMPLE = Path(__file__).parent.parent / "examples" / "eagle.spec"
AIMS = {"native": 1.5, "interpreter": 1.5, "python": 1.1}
SIZES = (1, 2, 4)


def run(turns: int = 40) -> Iterator[Pair]:
    torch.set_num_threads(1)
    torch.set_grad_enabled(False)
    checkpoint = load_checkpoint()
    schedule = compile_source(read_source(EXAMPLE), Asked(environment={}))
    for kind in KINDS:
        if not isinstance(here(kind), NotHere):
            yield from replayed(checkpoint, schedule, SIZES, turns, kind=kind, least=AIMS[kind])
