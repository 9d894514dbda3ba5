"""Replay of a captured segment against its phases run eagerly: draft and verify of the embedded model.

One to four requests, f32. At least 1.5 times is the aim without Python's lock, 1.1 from Python.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import torch

from benchmarks.paired import Pair, paired, spent
from plait.compiler.compile import Asked, compile_source, read_source
from plait.runtime.devices.cpu import Cpu
from plait.runtime.devices.replayers import KINDS, here, replayer
from plait.runtime.devices.tiers import NotHere
from plait.runtime.eagle.compare import requests_for
from plait.runtime.eagle.speculative import Speculative
from plait.runtime.models.tiny.checkpoint import load_checkpoint

EXAMPLE = Path(__file__).parent.parent / "examples" / "eagle.spec"
AIMS = {"native": 1.5, "interpreter": 1.5, "python": 1.1}
CAPTURES = ("draft", "verify")
MOST = 4
"""Requests."""
REPLAYS = 10


class Watched(Cpu):
    """Keeps every graph, and the calls that it was captured from."""

    def __init__(self, kind: str):
        super().__init__(replayer(kind))
        self.seen: list[tuple[Any, list[Callable]]] = []

    def capture(self, name: str, place: str, steps: list[Any], *rest: Any, **more: Any) -> Any:
        graph = super().capture(name, place, steps, *rest, **more)
        self.seen.append((graph, [what for op, _, what, _ in steps if op in ("run", "task")]))
        return graph


def run(turns: int = 40) -> Iterator[Pair]:
    torch.set_num_threads(1)
    torch.set_grad_enabled(False)
    for kind in KINDS:
        if not isinstance(here(kind), NotHere):
            yield from _tier(kind, turns)


def _tier(kind: str, turns: int) -> Iterator[Pair]:
    checkpoint = load_checkpoint()
    schedule = compile_source(read_source(EXAMPLE), Asked(environment={}))
    requests = requests_for(checkpoint, list(checkpoint.prompts[:MOST]), 100)
    device = Watched(kind)
    decoding = Speculative(schedule, checkpoint.model("f32"), requests, device=device)
    decoding.advance(1)
    sizes = [dict(bucket.sizes)[decoding.dim] for bucket in reversed(schedule.buckets)]
    sizes = [size for size in sizes if size <= MOST]
    for name in CAPTURES:
        graphs = [one for one in device.seen if one[0].name == name]
        for requests_now, (graph, calls) in zip(sizes, graphs, strict=True):
            yield paired(
                f"eager / {kind} replay, {name} of {graph.kernels} kernels, requests: {requests_now}",
                partial(_each, calls),
                partial(_each, [graph.replay]),
                turns,
                least=AIMS[kind],
            )
    decoding.close()


def _each(calls: list[Callable]) -> float:
    return spent(lambda: [call() for _ in range(REPLAYS) for call in calls]) / REPLAYS
