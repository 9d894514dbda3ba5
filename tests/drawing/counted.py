"""A decoder without a model: its tokens follow from the last one and its place, some at a time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from plait.compiler.compile import Asked, compile_source
from plait.dsl.span import Source
from plait.runtime.eagle.request import RequestError
from plait.runtime.engine.decoder import NO_TOKEN, Entered
from plait.runtime.engine.prompt import Prompt
from plait.runtime.schedule import Schedule

SPEC = """spec 1

pipeline counted {
  param most = 3
  param buckets = [1, 2, 4]
  flag apart = env("APART", true)
  dim bs in buckets
  stream main
  stream copy : copy
  buffer last       : i64[bs] carried
  buffer place      : i64[bs] carried
  buffer given      : i64[bs, most] copies 2
  buffer out_tokens : i64[bs, most] on host copies 2
  phase advance on main { updates last, place  writes given }
  fork copy from main
  phase publish on copy { reads given  writes out_tokens }
  join prev publish into host
  phase commit on host { reads prev out_tokens }
}
"""
VOCAB = 97
CONTEXT = 4096
PART = 4


def counted(**settings: Any) -> Schedule:
    return compile_source(Source("counted.spec", SPEC), Asked(settings=settings))


def following(last: int, place: int) -> int:
    return (31 * last + 7 * place + 3) % VOCAB


def plain(prompt: Prompt) -> list[int]:
    """What a request is to give."""
    known, found = list(prompt.tokens), []
    while len(found) < prompt.max_tokens:
        token = following(known[-1], len(known))
        if token in prompt.stop_tokens:
            break
        known.append(token)
        found.append(token)
    return found


class Counted:
    """`room`: tokens that all requests together may have, prompts and new ones."""

    vocab = VOCAB
    context = CONTEXT

    def __init__(self, schedule: Schedule, room: int = 1 << 30):
        self.schedule = schedule
        self.dim = "bs"
        self.room = room
        self.rows: dict[int, Prompt] = {}
        self.begun: list[Begun] = []
        self.broken: set[int] = set()
        """Rounds, by how many have begun, in which `advance` raises."""
        self.advanced = 0
        self.entered: list[tuple[int, ...]] = []
        """Prompts in the order in which they came into rows."""

    def bodies(self) -> Mapping[str, Callable[..., object]]:
        return {"advance": self.advance, "publish": self.publish}

    def opaque(self) -> Mapping[str, object]:
        return {}

    def for_schedule(self, schedule: Schedule) -> Counted:
        found = object.__new__(Counted)
        found.__dict__ = self.__dict__ | {"schedule": schedule, "origin": self}
        return found

    def advance(self, last: Tensor, place: Tensor, given: Tensor) -> None:
        of = getattr(self, "origin", self)
        of.advanced += 1
        if of.advanced in of.broken:
            last.fill_(0)
            raise ValueError("as it was told")
        count = 1 + (last + place) % given.shape[1]
        given.fill_(NO_TOKEN)
        for number in range(given.shape[1]):
            more = number < count
            last.copy_(torch.where(more, (31 * last + 7 * place + 3) % VOCAB, last))
            place.add_(more)
            given[:, number] = torch.where(more, last, NO_TOKEN)

    def publish(self, given: Tensor, out_tokens: Tensor) -> None:
        out_tokens.copy_(given)

    def has_room(self, prompt: Prompt, known: Sequence[int]) -> bool:
        return self._begun_of(prompt, known) is not None or self._total(prompt) <= self._left()

    def enter(self, row: int, prompt: Prompt, known: Sequence[int]) -> Entered:
        assert row == len(self.rows)
        if self._total(prompt) > self.room:
            raise RequestError(f"there is room for {self.room} tokens")
        if prompt.name == "never":
            raise ValueError("a prompt that nobody can run")
        if begun := self._begun_of(prompt, known):
            begun.close()
        assert self._total(prompt) <= self._left()
        self.rows[row] = prompt
        self.entered.append(prompt.tokens)
        tokens = [*prompt.tokens, *known]
        token = following(tokens[-1], len(tokens))
        carried = {"last": torch.tensor(token), "place": torch.tensor(len(tokens) + 1)}
        return Entered(token, carried)

    def move(self, source: int, target: int) -> None:
        assert target not in self.rows
        self.rows[target] = self.rows.pop(source)

    def leave(self, row: int, tokens: Sequence[int]) -> None:
        prompt = self.rows.pop(row)
        assert not tokens or tuple(tokens[: len(prompt.tokens)]) == prompt.tokens

    def held(self) -> Mapping[str, int]:
        return {"rows": len(self.rows), "prompts": len(self.begun)}

    def prefill(self, prompt: Prompt, known: Sequence[int]) -> Begun | None:
        tokens = (*prompt.tokens, *known)
        if len(tokens) <= PART or self._begun_of(prompt, known):
            return None
        self.begun.append(Begun(self, prompt, tokens))
        return self.begun[-1]

    def _begun_of(self, prompt: Prompt, known: Sequence[int]) -> Begun | None:
        tokens = (*prompt.tokens, *known)
        return next((b for b in self.begun if (b.prompt, b.tokens) == (prompt, tokens)), None)

    def _left(self) -> int:
        taken = [*self.rows.values(), *(begun.prompt for begun in self.begun)]
        return self.room - sum(map(self._total, taken))

    def _total(self, prompt: Prompt) -> int:
        return len(prompt.tokens) + prompt.max_tokens


class Begun:
    def __init__(self, decoder: Counted, prompt: Prompt, tokens: tuple[int, ...]):
        self.decoder, self.prompt, self.tokens = decoder, prompt, tokens
        self.done = 0

    def advance(self) -> bool:
        self.done += PART
        return len(self.tokens) - self.done > PART

    def close(self) -> None:
        if self in self.decoder.begun:
            self.decoder.begun.remove(self)
