"""A round through its schedule against the same phases and captures called by a hand-written loop.

One request, f32. The loop runs everything on one thread, in the order of the text, with the very same
bound bodies, loads and graphs; it needs no streams, events or program. At most 1.05 times it is the aim.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import torch

from plait.bench.overhead import scheduled
from plait.bench.paired import Pair
from plait.compiler.compile import Asked, compile_source, read_source
from plait.runtime.devices.replayers import KINDS, VARIABLE
from plait.runtime.models.tiny.checkpoint import load_checkpoint

EXAMPLE = Path(__file__).parent.parent / "examples" / "eagle.spec"


def run(turns: int = 60) -> Iterator[Pair]:
    torch.set_num_threads(1)
    torch.set_grad_enabled(False)
    checkpoint = load_checkpoint()
    schedule = compile_source(read_source(EXAMPLE), Asked(environment={}))
    for kind in KINDS:
        os.environ[VARIABLE] = kind
        yield from scheduled(checkpoint, schedule, (1,), turns, f" ({kind} replay)")
        del os.environ[VARIABLE]
