"""A round through its schedule against the same phases and captures called by a hand-written loop.

One request, f32. The loop runs everything on one thread, in the order of the text, with the very same
bound bodies, loads and graphs; it needs no streams, events or program. At most 1.05 times it is the aim.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch

from benchmarks.paired import Pair, paired
from plait.compiler.compile import Asked, compile_source, read_source
from plait.runtime.devices.replayers import KINDS, VARIABLE
from plait.runtime.eagle.compare import requests_for
from plait.runtime.eagle.speculative import Speculative
from plait.runtime.models.tiny.checkpoint import load_checkpoint

ROUNDS = 10
EXAMPLE = Path(__file__).parent.parent / "examples" / "eagle.spec"


def run(turns: int = 60) -> Iterator[Pair]:
    import os

    torch.set_num_threads(1)
    torch.set_grad_enabled(False)
    for kind in KINDS:
        os.environ[VARIABLE] = kind
        yield _one(kind, turns)
        del os.environ[VARIABLE]


def _one(kind: str, turns: int) -> Pair:
    checkpoint = load_checkpoint()
    schedule = compile_source(read_source(EXAMPLE), Asked(environment={}))
    requests = requests_for(checkpoint, list(checkpoint.prompts[:1]), 100)
    decoding = Speculative(schedule, checkpoint.model("f32"), requests)
    decoding.advance(1)
    runner = decoding.runner
    hand = _Hand(runner)

    def scheduled() -> float:
        start = time.perf_counter()
        for _ in range(ROUNDS):
            runner.step(bs=1)
        runner.drain()
        return (time.perf_counter() - start) / ROUNDS

    found = paired(f"scheduled round / hand-written loop ({kind} replay)", scheduled, hand, turns)
    decoding.close()
    return found


class _Hand:
    """The loop that someone would write: the same jobs, one after the other."""

    def __init__(self, runner: Any):
        round, *_ = runner._bound[0]
        cells = zip(round.__code__.co_freevars, round.__closure__, strict=True)
        held = {name: cell.cell_contents for name, cell in cells}
        jobs = {turns[0].name: turns for name, turns in held.items() if name[0] in "pl"}
        graphs = {turns[0].name: turns[0] for name, turns in held.items() if name[0] == "g"}
        self.load_draft, self.load_verify = jobs["load draft"][0], jobs["load verify"][0]
        self.load_extend = jobs["load extend"]
        self.draft = graphs["draft"].replay
        self.verify = graphs["verify"].replay
        self.extend = graphs["extend"].replay
        self.build_tree, self.plan_verify = jobs["build_tree"][0], jobs["plan_verify"][0]
        self.accept, self.plan_extend = jobs["accept"], jobs["plan_extend"]
        self.publish = jobs["publish"]
        self.out = [runner.buffer("out_tokens", back) for back in (0, 1)]
        self.rounds = 0

    def __call__(self) -> float:
        start = time.perf_counter()
        for _ in range(ROUNDS):
            turn = self.rounds % 2
            self.rounds += 1
            self.load_draft()
            self.draft()
            self.build_tree()
            self.plan_verify()
            self.load_verify()
            self.verify()
            self.accept[turn]()
            self.plan_extend[turn]()
            self.load_extend[turn]()
            self.extend()
            self.publish[turn]()
            self.out[turn][:1].tolist()
        return (time.perf_counter() - start) / ROUNDS
