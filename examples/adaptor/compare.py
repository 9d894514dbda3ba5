"""A stand-in worker by hand and through Plait, both held against plain decoding: compare.py [SPEC]"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import plait
import torch
from adaptor import Adaptor
from plait.runtime.eagle.plain import Plain
from plait.runtime.eagle.request import Request, span_for
from plait.runtime.models.tiny.checkpoint import load_checkpoint
from stand_in import StandInWorker, by_hand

SPEC = Path(__file__).with_name("worker.spec")
STEPS = 2
NEW = 8
BATCHES = (3, 4, 1)
"""Requests that run together."""


def main(spec: Path = SPEC) -> int:
    torch.set_num_threads(1)
    checkpoint = load_checkpoint()
    model, start = checkpoint.model("exact"), checkpoint.shape.bos
    texts = checkpoint.prompts[: sum(BATCHES)]
    prompts = [[start, *checkpoint.tokenizer.encode(text)] for text in texts]

    def requests() -> list[Request]:
        return [Request(prompt, NEW, start) for prompt in prompts]

    plain = requests()
    judge = Plain(model, plain, [1, 2, 4])
    while judge.advance(1000):
        pass
    schedule = plait.compile(spec, settings={"num_steps": STEPS})
    slots = dict(schedule.widest.sizes)["bs"]  # rows that only pad have caches too
    worker = StandInWorker(model, slots, span_for(plain, STEPS + 1, model.shape.context), STEPS)

    print("a stand-in worker: the calls of an EAGLE worker, the numbers of Plait's tiny model")
    print(f"{len(plain)} requests of {NEW} new tokens, in batches of {BATCHES}")
    with torch.no_grad():
        same = shown("by hand", lambda some: by_hand(worker, some), requests(), plain)
    adaptor = Adaptor(worker, schedule)
    with adaptor.runner:
        same &= shown("through plait", adaptor.run, requests(), plain)
    return 0 if same else 1


def shown(
    name: str, run: Callable[[list[Request]], int], given: list[Request], plain: list[Request]
) -> bool:
    """Runs requests in their batches; whether their tokens are those of plain decoding."""
    rounds, at = 0, 0
    for size in BATCHES:
        rounds += run(given[at : at + size])
        at += size
    same = [one.tokens for one in given] == [one.tokens for one in plain]
    print(f"{name}: {rounds} rounds, identical to plain decoding: {'yes' if same else 'no'}")
    return same


if __name__ == "__main__":
    try:
        sys.exit(main(*map(Path, sys.argv[1:])))
    except (plait.SpecError, plait.PhaseError) as error:
        sys.exit(f"{error}")
