"""Requests in rows of a decoder, round by round, with nothing in flight between two."""

from __future__ import annotations

import torch

from plait.runtime.bind import bind
from plait.runtime.devices.base import Device
from plait.runtime.engine.decoder import Decoder
from plait.runtime.engine.prompt import Prompt


class Text:
    """A request and what has come of it."""

    def __init__(self, prompt: Prompt):
        self.prompt = prompt
        self.tokens: list[int] = []
        self.logits: dict[int, torch.Tensor] = {}
        """Of each token that a round gave, by its place."""
        self.logprobs: list[float] = []
        self.reused = 0

    @property
    def done(self) -> bool:
        return len(self.tokens) >= self.prompt.max_tokens

    def take(self, tokens: list[int], logits: list[torch.Tensor]) -> int:
        """As many as are wanted."""
        before = len(self.tokens)
        self.tokens += tokens[: self.prompt.max_tokens - before]
        count = len(self.tokens) - before
        self.logits |= dict(enumerate(logits[:count], before))
        return count


class Batch:
    def __init__(self, decoder: Decoder, device: str | Device = "cpu", **how):
        self.decoder = decoder
        self.texts: list[Text] = []
        """By row."""
        self._logits = torch.empty(0)
        bodies = {**decoder.bodies(), "commit": lambda **outputs: None, "accept": self._accept}
        self.runner = bind(decoder.schedule, bodies, opaque=decoder.opaque(), device=device, **how)

    def _accept(self, logits: torch.Tensor, **others: torch.Tensor) -> None:
        self._logits = logits.clone()
        self.decoder.bodies()["accept"](logits=logits, **others)

    def join(self, text: Text) -> bool:
        """Whether there was room."""
        if not self.decoder.has_room(text.prompt, text.tokens):
            return False
        row = len(self.texts)
        entered = self.decoder.enter(row, text.prompt, text.tokens)
        for name, value in entered.carried.items():
            self.runner.buffer(name)[row] = value
        text.reused = entered.reused
        text.tokens.append(entered.token)
        if entered.logprobs is not None:
            text.logprobs.append(float(entered.logprobs[entered.token]))
        self.texts.append(text)
        return True

    def round(self) -> None:
        self.runner.step(**{self.decoder.dim: len(self.texts)})
        self.runner.drain()
        rows = self.runner.buffer("out_tokens")[: len(self.texts)].tolist()
        chances = self.runner.buffer("out_logprobs")[: len(self.texts), :, 0].tolist()
        for row, text in enumerate(self.texts):
            tokens = [token for token in rows[row] if token >= 0]
            count = text.take(tokens, list(self._logits[row]))
            if text.prompt.logprobs is not None:
                text.logprobs += chances[row][:count]

    def leave(self, row: int, keep: bool = True) -> Text:
        """The last one moves into its place."""
        text = self.texts[row]
        self.decoder.leave(row, (*text.prompt.tokens, *text.tokens) if keep else ())
        last = self.texts.pop()
        if last is not text:
            self.decoder.move(len(self.texts), row)
            self.texts[row] = last
            for buffer in self.decoder.schedule.buffers:
                if buffer.carried and not buffer.opaque:
                    rows = self.runner.buffer(buffer.name)
                    rows[row] = rows[len(self.texts)]
        return text

    def close(self) -> None:
        self.runner.close()
