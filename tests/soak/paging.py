"""Requests on caches in pages, at random, as JSON: `python -m soak.paging --seed TEXT --trials N`."""

from __future__ import annotations

import random
import time
from pathlib import Path

import torch

from drawing.batching import Batch, Text
from drawing.judged import judged_by_plain
from plait.compiler.compile import Asked, compile_source, read_source
from plait.runtime.eagle.decoder import TinyDecoder
from plait.runtime.engine.prompt import Prompt
from plait.runtime.models.tiny.checkpoint import load_checkpoint
from soak.apart import main

SPEC = Path(__file__).parents[2] / "examples" / "service.spec"
PROMPTS = 24
MOST = 24
"""New tokens."""


class Paging:
    """Prompts that often begin alike, and what plain decoding makes of them."""

    def __init__(self, chance: random.Random):
        self.chance = chance
        checkpoint = load_checkpoint()
        self.model = checkpoint.model("exact")
        texts = [
            [checkpoint.shape.bos, *checkpoint.tokenizer.encode(t)] for t in checkpoint.prompts
        ]
        prompts: dict[tuple[int, ...], None] = {}
        while len(prompts) < PROMPTS:
            text = chance.choice(texts)[: chance.randrange(2, 70)]
            if chance.random() < 0.5:
                text = [*text[:-1], chance.randrange(1000)]
            prompts[tuple(text)] = None
        judged = judged_by_plain(self.model, prompts, MOST)
        self.judged = {one.prompt.tokens: one for one in judged}

    def trial(self) -> tuple[int, int, int, int]:
        """Requests, tokens, tokens of prompts that were reused, and requests that were not as they should."""
        chance = self.chance
        settings = {"num_steps": chance.randrange(5), "most_pages": 6, "buckets": [2, 5, 16]}
        schedule = compile_source(read_source(SPEC), Asked(settings=settings, environment={}))
        decoder = TinyDecoder(schedule, self.model, pages=chance.randrange(17, 60))
        chance.shuffle(decoder.memory.rows.pages._free)
        batch, reused, tokens, wrong = Batch(decoder), 0, 0, 0
        waiting = [
            Text(Prompt(prompt, chance.randrange(1, MOST + 1)))
            for prompt in chance.choices(list(self.judged), k=60)
        ]
        while waiting or batch.texts:
            while waiting and len(batch.texts) < 16 and chance.random() < 0.8:
                if not batch.join(waiting[-1]):
                    break
                reused += waiting.pop().reused
            if batch.texts and any(not text.done for text in batch.texts):
                batch.round()
            for row in reversed(range(len(batch.texts))):
                text = batch.texts[row]
                if text.done or chance.random() < 0.03:
                    batch.leave(row)
                    tokens += len(text.tokens)
                    wrong += not self.judged[text.prompt.tokens].agrees(text)
                elif chance.random() < 0.03:
                    waiting.append(batch.leave(row, keep=False))
        batch.close()
        decoder.forget()
        left = set(decoder.held().values()) != {0}
        return 60, tokens, reused, wrong + left


def paging(seed: str, trials: int) -> dict:
    """How many requests were served, and what of them was not as it should."""
    torch.set_num_threads(1)
    start = time.process_time()
    paged = Paging(random.Random(seed))
    served, tokens, reused, wrong = (
        sum(part) for part in zip(*(paged.trial() for _ in range(trials)), strict=True)
    )
    return {
        "requests": served,
        "tokens": tokens,
        "reused": reused,
        "wrong": wrong,
        "seconds": time.process_time() - start,
    }


if __name__ == "__main__":
    main("soak.paging", __doc__, paging, "trials", 30)
