"""Requests that join and leave a decoder at random, held against plain decoding: `python -m soak.joining`.

Every schedule of examples/service_tree.spec from plain decoding to a tree, with 1 to 16 requests, on
each way to replay and on the adversary, in exact mode: tokens, and the logits of all rounds bit for bit.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections import Counter
from itertools import product
from pathlib import Path
from random import Random
from typing import Any

import torch

from plait.compiler.compile import Asked, compile_source, read_source
from plait.runtime.devices.adversary.device import Adversary
from plait.runtime.devices.base import Device
from plait.runtime.devices.replayers import KINDS, VARIABLE, here
from plait.runtime.devices.tiers import NotHere
from plait.runtime.eagle.forms import speculative
from plait.runtime.eagle.plain import Plain
from plait.runtime.eagle.request import Request
from plait.runtime.models.tiny.checkpoint import Checkpoint
from plait.runtime.schedule import Schedule

EXAMPLES = Path(__file__).parents[2] / "examples"
MOST = 16
"""Requests at once."""


def schedule(steps: int, topk: int, *, capture: bool = True, **settings: Any) -> Schedule:
    return example("service_tree", capture=capture, num_steps=steps, topk=topk, **settings)


def example(name: str, *, capture: bool = True, **settings: Any) -> Schedule:
    asked = Asked(settings=settings, capture=capture, environment={})
    return compile_source(read_source(EXAMPLES / f"{name}.spec"), asked)


class Texts:
    """What plain decoding makes of so many prompts, up to `tokens` new ones of each."""

    def __init__(self, checkpoint: Checkpoint, tokens: int):
        self.model = checkpoint.model("exact")
        self.tokens = tokens
        self.stop = checkpoint.shape.bos
        encoded = checkpoint.tokenizer.encode_all(list(checkpoint.prompts)[:MOST])
        self.prompts = [[self.stop, *ids[: 6 + number]] for number, ids in enumerate(encoded)]
        self.plain = [Request(prompt, tokens, self.stop) for prompt in self.prompts]
        decoder = Plain(self.model, self.plain, [MOST], captured=False, keep_logits=True)
        while decoder.advance(16):
            pass

    def request(self, number: int, most: int) -> Request:
        return Request(self.prompts[number], most, self.stop)

    def differs(self, number: int, request: Request, left: bool) -> str | None:
        """What plain decoding says otherwise; None: nothing. Who has left may have fewer tokens."""
        plain, count = self.plain[number], len(request.tokens)
        if request.tokens != plain.tokens[:count]:
            return f"{request.tokens} and not {plain.tokens[:count]}"
        wanted = min(request.most, len(plain.tokens))
        if count < wanted and not left:
            return f"{count} tokens and not {wanted}"
        rounds = request.logits[: count - 1]
        if len(rounds) != count - 1 or not all(map(torch.equal, rounds, plain.logits[1:count])):
            return "other logits"
        return None


class Joining:
    """One decoder that requests come to, and go from, again and again."""

    def __init__(self, schedule: Schedule, texts: Texts, device: str | Device = "cpu"):
        self.texts = texts
        requests = [texts.request(number, texts.tokens) for number in range(MOST)]
        self.decoder = speculative(
            schedule, texts.model, requests, device=device, prepare=False, keep_logits=True
        )
        self.decoder.waiting.clear()

    def run(self, count: int, seed: object) -> list[str]:
        """What goes wrong with so many requests, which come when they like and now and then leave early."""
        chance, decoder = Random(repr((seed, count))), self.decoder
        numbers = chance.sample(range(MOST), count)
        most = self.texts.tokens
        coming = [(n, self.texts.request(n, chance.randint(1, most))) for n in numbers]
        asked, left = list(coming), set()
        while coming or decoder.waiting or decoder.live:
            for _ in range(min(chance.randint(0, 4), len(coming))):
                decoder.waiting.insert(0, coming.pop()[1])
            if decoder.live and chance.random() < 0.1:
                leaving = chance.choice(decoder.live)
                leaving.ended = True
                left.add(id(leaving))
            decoder.advance(chance.randint(1, 2))
        found = [(n, self.texts.differs(n, one, id(one) in left)) for n, one in asked]
        return [f"prompt {number}: {what}" for number, what in found if what is not None]

    def close(self) -> dict[int, int]:
        """How many rounds of a request committed so many tokens."""
        self.decoder.close()
        return dict(sorted(self.decoder.accepted.items()))


def grid(texts: Texts, seed: str, counts: list[int], seeds: int) -> list[dict]:
    """The whole grid by device: every way to replay, and so many seeds of the adversary."""
    tiers = [kind for kind in KINDS[:2] if not isinstance(here(kind), NotHere)]
    return [_on(texts, kind, ["cpu"], seed, counts) for kind in tiers] + [
        _on(texts, "adversary", list(range(seeds)), seed, counts[-1:])
    ]


def _on(texts: Texts, kind: str, devices: list[Any], seed: str, counts: list[int]) -> dict:
    if kind in KINDS:
        os.environ[VARIABLE] = kind
    failures, tried = [], 0
    accepted: Counter[int] = Counter()
    start = time.process_time()
    for (steps, topk), one in product(product(range(5), range(1, 5)), devices):
        device = "cpu" if one == "cpu" else Adversary(one)
        joining = Joining(schedule(steps, topk), texts, device)
        for count in counts:
            tried += count
            failures += [
                f"{kind} {one}, S = {steps}, K = {topk}, {count} requests: {what}"
                for what in joining.run(count, (seed, steps, topk, one))
            ]
        accepted.update(joining.close())
    return {
        "device": kind,
        "tried": tried,
        "failures": failures,
        "rounds": sum(accepted.values()),
        "tokens": sum(tokens * times for tokens, times in accepted.items()),
        "seconds": time.process_time() - start,
    }


def main() -> None:
    from plait.runtime.models.tiny.checkpoint import load_checkpoint

    parser = argparse.ArgumentParser(prog="python -m soak.joining", description=__doc__)
    parser.add_argument("--seed", required=True)
    parser.add_argument("--most", type=int, default=MOST, help="requests at once")
    parser.add_argument("--seeds", type=int, default=2, help="of the adversary")
    options = parser.parse_args()
    torch.set_num_threads(1)
    texts = Texts(load_checkpoint(), 12)
    counts = list(range(1, options.most + 1))
    print(json.dumps(grid(texts, options.seed, counts, options.seeds)))


if __name__ == "__main__":
    main()
