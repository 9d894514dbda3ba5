"""Requests of the table model in the rows of an engine: all that a Decoder is but for its phases.

A token's logits hang on the token before alone, so there is no cache, and a row is what it carries.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence

import torch
from torch import Tensor

from plait.runtime.eagle.request import RequestError
from plait.runtime.engine.decoder import Entered
from plait.runtime.engine.prompt import Prompt
from plait.runtime.models.table.model import TableModel
from plait.runtime.sampling.choosing import chosen
from plait.runtime.sampling.filtering import kept, ranked
from plait.runtime.schedule import Schedule

CONTEXT = 2**20


class TableRows(ABC):
    context = CONTEXT

    def __init__(self, schedule: Schedule, model: TableModel):
        (self.dim,) = dict(schedule.widest.sizes)
        self.schedule = schedule
        self.model = model
        self.vocab = model.vocab
        self.taken: set[int] = set()
        """Rows that a request is in."""

    def opaque(self) -> Mapping[str, object]:
        """Something for each opaque buffer, of which nothing is asked."""
        names = (buffer.name for buffer in self.schedule.buffers if buffer.dtype == "opaque")
        return {name: torch.zeros(1) for name in names}

    def has_room(self, prompt: Prompt, known: Sequence[int]) -> bool:
        return True

    def check(self, prompt: Prompt) -> None:
        """Raises RequestError for what could never be served."""
        wanted = len(prompt.tokens) + prompt.max_tokens
        if not prompt.tokens or not all(0 <= token < self.vocab for token in prompt.tokens):
            what = f"a prompt of the table model is of tokens from 0 to {self.vocab - 1}"
            raise RequestError(f"{what}, one at least; this one is {list(prompt.tokens)}")
        if wanted > CONTEXT:
            raise RequestError(
                f"the prompt has {len(prompt.tokens)} tokens and asks for {prompt.max_tokens} more; "
                f"the table model's context is {CONTEXT}: ask for fewer new tokens"
            )

    def enter(self, row: int, prompt: Prompt, known: Sequence[int]) -> Entered:
        self.check(prompt)
        tokens = [*prompt.tokens, *known]
        asked = prompt.sampling
        carried = self.seated(
            torch.tensor(tokens[-1:]),
            torch.tensor([len(tokens)]),
            torch.tensor([asked.temperature]),
            torch.tensor([asked.top_k]),
            torch.tensor([asked.top_p]),
            torch.tensor([asked.seed]),
        )
        self.taken.add(row)
        logprobs = None
        if prompt.logprobs is not None:
            logprobs = self.model.target[tokens[-1]].log_softmax(-1)
        values = {name: value[0] for name, value in carried.items()}
        return Entered(int(carried["bonus"]), values, logprobs)

    def seated(
        self,
        last: Tensor,
        position: Tensor,
        temperature: Tensor,
        top_k: Tensor,
        top_p: Tensor,
        seed: Tensor,
    ) -> dict[str, Tensor]:
        """Of requests by their last tokens, what their rows carry; `bonus` is the first new token."""
        weights = kept(ranked(self.model.target[last]), temperature, top_k, top_p)
        bonus = chosen(weights, seed, position)
        return {
            "seq_lens": position,
            "bonus": bonus,
            "temperature": temperature,
            "top_k": top_k,
            "top_p": top_p,
            "seed": seed,
            **self.drafted(bonus),
        }

    @abstractmethod
    def bodies(self) -> Mapping[str, Callable[..., object]]: ...

    @abstractmethod
    def drafted(self, bonus: Tensor) -> dict[str, Tensor]:
        """What rows carry for the draft that comes behind these tokens."""

    def move(self, source: int, target: int) -> None:
        self.taken.remove(source)
        self.taken.add(target)

    def leave(self, row: int, tokens: Sequence[int]) -> None:
        self.taken.remove(row)

    def held(self) -> Mapping[str, int]:
        return {"rows": len(self.taken)}
