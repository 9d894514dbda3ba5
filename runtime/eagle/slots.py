"""The tiny model as an engine's decoder, greedy: a slot of both caches for each row.

A slot holds a whole context, so there is room for a request whenever there is a row.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from plait.runtime.eagle.chain import Chain, check_fits, check_room, dim_of, rows_of
from plait.runtime.eagle.request import RequestError
from plait.runtime.engine.decoder import Entered
from plait.runtime.engine.prompt import Prompt
from plait.runtime.models.tiny.model import TinyModel
from plait.runtime.runner import BindError
from plait.runtime.schedule import Schedule

PART = 32
"""Tokens of a prompt that run at once beside a round."""


class Slots:
    """`rows`: those that the widest schedule it may go over to verifies for a request. Raises BindError."""

    def __init__(self, schedule: Schedule, model: TinyModel, *, rows: int = 0):
        self.schedule = schedule
        self.model = model
        self.dim = dim_of(schedule)
        self.vocab = model.shape.vocab
        self.context = model.shape.context
        slots, width = dict(schedule.widest.sizes)[self.dim], rows_of(schedule)
        span = -(-(self.context + 3 * max(width, rows)) // 64) * 64
        check_room(schedule, model, slots, span)
        self.chain = self.chain_of(slots, span, width)
        check_fits(schedule, model, self.bodies() | {"commit": None})
        self._rows: set[int] = set()
        self._begun: dict[tuple[int, ...], Begun] = {}

    def chain_of(self, slots: int, span: int, rows: int) -> Chain:
        return Chain(self.model, slots, span, rows)

    def bodies(self) -> dict[str, Callable[..., object]]:
        return dict(self.chain.bodies())

    def opaque(self) -> Mapping[str, object]:
        return self.chain.opaque()

    def has_room(self, prompt: Prompt, known: Sequence[int]) -> bool:
        return True

    def enter(self, row: int, prompt: Prompt, known: Sequence[int]) -> Entered:
        check_greedy(prompt)
        tokens = (*prompt.tokens, *known)
        begun = self._begun.pop(tokens, None)
        if begun is None:
            token, logits, carried = self.chain.prefill(list(tokens), row)
        else:
            token, logits, carried = begun.end(row)
        self._rows.add(row)
        logprobs = None if prompt.logprobs is None else logits.float().log_softmax(-1)
        return Entered(token, carried, logprobs)

    def move(self, source: int, target: int) -> None:
        self.chain.move(source, target)
        self._rows.remove(source)
        self._rows.add(target)

    def leave(self, row: int, tokens: Sequence[int]) -> None:
        self._rows.remove(row)

    def held(self) -> Mapping[str, int]:
        return {"slots": len(self._rows), "prompts": len(self._begun)}

    def prefill(self, prompt: Prompt, known: Sequence[int]) -> Begun | None:
        tokens = (*prompt.tokens, *known)
        if len(tokens) <= PART or tokens in self._begun:
            return None
        begun = self._begun[tokens] = Begun(
            self.chain, tokens, lambda: self._begun.pop(tokens, None)
        )
        return begun

    def for_schedule(self, schedule: Schedule) -> Slots:
        found = object.__new__(type(self))
        found.__dict__.update(self.__dict__)
        slots, width = dict(schedule.widest.sizes)[dim_of(schedule)], rows_of(schedule)
        most, span = len(self.chain.target_cache[0]), self.chain.planner.span
        if slots > most or self.context + 3 * width > span:
            raise BindError(
                f"{schedule.source.name}: {slots} requests of {width} rows each; the caches were made for "
                f"{most} of {(span - self.context) // 3} at most: give `rows=` when the decoder is made"
            )
        found.schedule, found.dim = schedule, dim_of(schedule)
        found.chain = self.chain.with_rows(width)
        check_fits(schedule, self.model, found.bodies() | {"commit": None})
        return found


class Begun:
    """A prompt that has been run in part, in caches of its own."""

    def __init__(self, chain: Chain, tokens: Sequence[int], close: Callable[[], object]):
        self.chain = chain
        self.tokens = torch.tensor([tokens])
        self.target_cache = chain.model.target_cache(1, chain.planner.span)
        self.nextn_cache = chain.model.nextn_cache(1, chain.planner.span)
        self.done = 0
        self.close = close

    def advance(self) -> bool:
        start, end = self.done, self.done + PART
        plan = self.chain.planner.of(torch.arange(start, end).unsqueeze(0))
        states = self.chain.model.target(self.tokens[:, start:end], plan, self.target_cache)
        following = self.tokens[:, start + 1 : end + 1]
        self.chain.model.nextn(states, following, plan, self.nextn_cache)
        self.done = end
        return self.tokens.shape[1] - end > PART

    def end(self, row: int) -> tuple[int, Tensor, dict[str, Any]]:
        """Runs what is left, in a slot."""
        both = (
            (self.chain.target_cache, self.target_cache),
            (self.chain.nextn_cache, self.nextn_cache),
        )
        for slots, own in both:
            for into, out_of in zip(slots, own, strict=True):
                into[row] = out_of[0]
        return self.chain.prefill(self.tokens[0].tolist(), row, self.done)


def check_greedy(prompt: Prompt) -> None:
    """Raises RequestError for one whose tokens are to be drawn."""
    if prompt.sampling.temperature:
        raise RequestError(
            f"a temperature of {prompt.sampling.temperature:g}: this decoder takes the likeliest token and "
            "draws none; ask for temperature 0"
        )
