"""One rank of an engine over two: rank 0 serves, rank 1 follows and is killed in a round of a second run."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from pathlib import Path

import torch
import torch.distributed as dist

from plait import Engine, EngineClosed, Prompt
from plait.runtime.devices.named import device
from plait.runtime.eagle.compare import requests_for
from plait.runtime.eagle.parallel_decoder import ParallelDecoder
from plait.runtime.eagle.plain import Plain
from plait.runtime.engine.leading import follow
from plait.runtime.injected import fault, injected
from plait.runtime.models.tiny.checkpoint import load_checkpoint
from plait.runtime.ranks.environment import from_environment
from plait.runtime.schedule_reader import from_json

TOKENS = 8
TEXTS = 3
SECONDS = 10.0
"""For which a rank waits for the other."""


def main(schedule_file: str) -> None:
    torch.set_num_threads(1)
    schedule = from_json(Path(schedule_file).read_text(encoding="utf-8"))
    checkpoint = load_checkpoint()
    model = checkpoint.model("exact")
    texts = [text[:40] for text in checkpoint.prompts[:TEXTS]]
    prompts = [Prompt(tuple(r.prompt), TOKENS) for r in requests_for(checkpoint, texts, TOKENS)]
    for killed in (False, True):
        ranks = from_environment(schedule, seconds=SECONDS)
        decoder = ParallelDecoder(schedule, model, ranks)
        if dist.get_rank() == 0:
            engine = Engine(decoder, ranks=ranks)
            print(
                json.dumps(
                    asyncio.run(failing(engine, prompts) if killed else served(engine, prompts))
                )
            )
            continue
        faults = [fault("kill:target.embed@1", schedule)] if killed else []
        follow(decoder, ranks, device=lambda faults=faults: injected(device("cpu"), faults))
    judge = requests_for(checkpoint, texts, TOKENS)
    plain = Plain(model, judge, [4], captured=False)
    while plain.advance(TOKENS):
        pass
    print(json.dumps([request.tokens for request in judge]))


async def served(engine: Engine, prompts: list[Prompt]) -> list[list[int]]:
    async with engine:
        found = await asyncio.gather(*(engine.submit(prompt).whole() for prompt in prompts))
    return [list(piece.tokens) for piece in found]


async def failing(engine: Engine, prompts: list[Prompt]) -> dict[str, object]:
    async with engine:
        began = time.monotonic()
        found = await asyncio.gather(*(engine.submit(prompt).whole() for prompt in prompts))
        took = time.monotonic() - began
        try:
            engine.submit(prompts[0])
        except EngineClosed as error:
            refused = str(error)
        else:
            refused = ""
    return {
        "ends": [piece.end for piece in found],
        "errors": sorted({piece.error for piece in found}),
        "tokens": [list(piece.tokens) for piece in found],
        "in time": took < 3 * SECONDS,
        "refused": refused,
    }


if __name__ == "__main__":
    main(*sys.argv[1:])
