"""Tokens a second of speculative over those of plain decoding of the same prompts, both captured."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from plait.bench.paired import Pair, paired
from plait.runtime.eagle.compare import AnyCheckpoint, requests_for
from plait.runtime.eagle.forms import speculative
from plait.runtime.eagle.plain import Plain
from plait.runtime.eagle.request import Request
from plait.runtime.eagle.speculative import Speculative
from plait.runtime.models.arithmetic import Mode
from plait.runtime.schedule import Schedule

TOKENS = 48
"""New ones of each request, in each turn."""
AT_ONCE = 16
"""Rounds or steps until it is asked whether any request is left."""


def speculated(
    checkpoint: AnyCheckpoint,
    schedule: Schedule,
    sizes: tuple[int, ...],
    turns: int,
    mode: Mode = "f32",
    among: str = "",
) -> Iterator[Pair]:
    """`among`: what the names say beside the number of requests."""
    model = checkpoint.model(mode)
    for bs in sizes:
        longest = _longest(checkpoint, bs)
        drafting = speculative(schedule, model, list(longest))
        try:
            ours = _Side(drafting, checkpoint, bs)
            peer = _Side(Plain(model, _longest(checkpoint, bs), [bs]), checkpoint, bs)
            ours.rate()
            peer.rate()
            name = f"tokens/s speculative / plain, bs = {bs}{among}"
            yield paired(name, ours.rate, peer.rate, turns, "tokens/s")
        finally:
            drafting.close()


def _longest(checkpoint: AnyCheckpoint, bs: int) -> list[Request]:
    """Requests that leave room for those of any turn."""
    all = requests_for(checkpoint, list(checkpoint.prompts), TOKENS)
    prompts = [max(all, key=lambda one: len(one.prompt)).prompt] * bs
    return [Request(list(prompt), TOKENS, checkpoint.shape.bos) for prompt in prompts]


class _Side:
    """Decodes the next held-out prompts in every turn; in the same turn both sides have the same."""

    def __init__(self, decoding: Speculative | Plain, checkpoint: AnyCheckpoint, bs: int):
        self.decoding = decoding
        self.checkpoint = checkpoint
        self.bs = bs
        self.prompts = itertools.cycle(checkpoint.prompts)
        self._decode()

    def rate(self) -> float:
        """Tokens a second of all requests together, their prompts not counted."""
        requests = requests_for(
            self.checkpoint, list(itertools.islice(self.prompts, self.bs)), TOKENS
        )
        self.decoding.waiting, before = list(reversed(requests)), self.decoding.seconds
        self._decode()
        tokens = sum(len(request.tokens) - 1 for request in requests)
        return tokens / (self.decoding.seconds - before)

    def _decode(self) -> None:
        while self.decoding.advance(AT_ONCE):
            pass
