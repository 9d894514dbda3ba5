"""What plain decoding makes of a prompt, which judges whatever else decodes it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import torch

from drawing.batching import Text
from plait.runtime.eagle.plain import Plain
from plait.runtime.eagle.request import Request
from plait.runtime.engine.prompt import Prompt
from plait.runtime.models.target import Target


class Judged(NamedTuple):
    prompt: Prompt
    tokens: list[int]
    logits: list[torch.Tensor]

    def agrees(self, text: Text) -> bool:
        """Whether all that a text has by now is what plain decoding gave it, bit for bit."""
        return text.tokens == self.tokens[: len(text.tokens)] and all(
            torch.equal(one.double(), self.logits[place]) for place, one in text.logits.items()
        )


def judged_by_plain(model: Target, prompts: Iterable[Sequence[int]], most: int) -> list[Judged]:
    """Each prompt with so many new tokens."""
    requests = [Request(list(prompt), most, -1) for prompt in prompts]
    plain = Plain(model, requests, [8], keep_logits=True)
    while plain.advance(most):
        pass
    return [Judged(Prompt(tuple(one.prompt), most), one.tokens, one.logits) for one in requests]
