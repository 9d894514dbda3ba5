"""Prompts of the tiny model that are under way: each has all pages of its request, but no row yet."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import count

import torch
from torch import Tensor

from plait.runtime.eagle.memory import Memory
from plait.runtime.engine.decoder import Entered
from plait.runtime.engine.prompt import Prompt
from plait.runtime.sampling.prompted import first_token, logprobs_of, sampling_of

PART = 64
"""Tokens of a prompt that run at once."""


class Prefilling:
    def __init__(self, memory: Memory):
        self.memory = memory
        self.begun: dict[int, Begun] = {}
        """By the number below 0 that stands for a row until it has one."""
        self._numbers = count(-1, -1)

    def begin(self, prompt: Prompt, known: Sequence[int]) -> Begun:
        """Raises NoRoom."""
        begun = Begun(self, next(self._numbers), prompt, (*prompt.tokens, *known))
        self.begun[begun.row] = begun
        return begun

    def find(self, prompt: Prompt, known: Sequence[int]) -> Begun | None:
        """That of an equal request."""
        wanted = prompt, (*prompt.tokens, *known)
        return next(
            (one for one in self.begun.values() if (one.prompt, one.tokens) == wanted), None
        )


class Begun:
    """A prompt that is under way."""

    def __init__(self, among: Prefilling, row: int, prompt: Prompt, tokens: tuple[int, ...]):
        self.memory = among.memory
        self.row = row
        self.prompt = prompt
        self.tokens = tokens
        self.reused = self.memory.rows.enter(row, tokens, self.memory.requests.positions(prompt))
        self.done = self.reused
        """Positions of both caches that are filled."""
        self._begun = among.begun

    @property
    def left(self) -> int:
        """Tokens that have not been run."""
        return len(self.tokens) - self.done

    def advance(self) -> bool:
        """Runs a part, while a round may be in flight; whether there is another before the end.

        What is in its pages then may be shared already.
        """
        if self._more:
            end = self.done + PART
            with torch.no_grad():
                states = self.memory.target(self.row, self.tokens, self.done, end)
                following = self.tokens[self.done + 1 : end + 1]
                self.memory.nextn(self.row, states, following, self.done)
            self.memory.rows.keep(self.row, self.tokens[: end + 1])
            self.done = end
        return self._more

    @property
    def _more(self) -> bool:
        return self.left > PART and self.row in self._begun

    def end(self, row: int, drafted: Callable[[Tensor], dict[str, Tensor]]) -> Entered:
        """Runs the last part, and takes it all into a row; `drafted` is of the schedule by then."""
        with torch.no_grad():
            states = self.memory.target(self.row, self.tokens, self.done, len(self.tokens))
            logits = self.memory.model.logits(states[-1])
            carried = sampling_of(self.prompt)
            token = first_token(logits, len(self.tokens), carried)
            following = (*self.tokens[self.done + 1 :], token)
            hidden = self.memory.nextn(self.row, states, following, self.done)[-1]
            carried |= drafted(hidden)
        rows = self.memory.rows
        rows.keep(self.row, (*self.tokens, token))
        rows.move(self.row, row)
        del self._begun[self.row]
        carried |= {
            "seq_lens": torch.tensor(len(self.tokens)),
            "bonus": torch.tensor(token),
            "hidden": hidden,
            "pages": torch.tensor(rows.table(row)),
        }
        logprobs = None if self.prompt.logprobs is None else logprobs_of(logits)
        return Entered(token, carried, logprobs, self.reused)

    def close(self) -> None:
        """Gives up what it holds, unless a row has it by now."""
        if self._begun.pop(self.row, None) is not None:
            self.memory.rows.leave(self.row)
