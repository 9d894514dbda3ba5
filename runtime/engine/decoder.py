"""What an engine asks of a model: the bound phases of a round, over rows that requests come to and leave.

A decoder stands between an engine, which knows of requests and rounds, and a model with its caches, which
knows of neither. All of it is called from one thread, and no round is in flight meanwhile but where
that is said; rows are dense, so the live requests of a round are rows 0 up to their number.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from plait.runtime.engine.prompt import Prompt
from plait.runtime.schedule import Schedule

if TYPE_CHECKING:
    from torch import Tensor

NO_TOKEN = -1
"""Stands in `out_tokens` behind the last token that a round gave a request."""


@dataclass(frozen=True, eq=False)
class Entered:
    """A request that is in a row, when its prompt has been through the model."""

    token: int
    """Its first new token."""
    carried: Mapping[str, Any]
    """Of every carried buffer with a row a request, what that row holds."""
    logprobs: Tensor | None = None
    """Of the first token, `[vocab]`, where the prompt asks for any."""
    reused: int = 0
    """Tokens of the prompt that were in the cache already."""


class Decoder(Protocol):
    """A model with its caches, as an engine drives it: bodies, and rows that requests come to and leave."""

    schedule: Schedule
    """That its bodies are for."""
    dim: str
    """The dim that counts requests."""
    vocab: int
    """How many tokens there are."""
    context: int
    """Tokens that a request may have in all, prompt and new ones."""

    def bodies(self) -> Mapping[str, Callable[..., object]]:
        """By phase; the engine adds `commit`, which takes the host buffer `out_tokens`, `i64[rows, most]`.

        Where log probabilities go out it takes `out_logprobs` as well, `f32[rows, most, 1 + tops]`: of the
        token itself and of the likeliest, which are in `out_top_tokens`, `i64[rows, most, tops]`.
        """
        ...

    def opaque(self) -> Mapping[str, object]:
        """By buffer, as `bind` takes them."""
        ...

    def has_room(self, prompt: Prompt, known: Sequence[int]) -> bool:
        """Whether its memory has room for this one now, to its last token."""
        ...

    def enter(self, row: int, prompt: Prompt, known: Sequence[int]) -> Entered:
        """Takes a request into a row that none has: its prompt, and the new tokens that are known already.

        Raises RequestError for one that could never be served. Whatever it raises, the row is empty then.
        """
        ...

    def move(self, source: int, target: int) -> None:
        """Takes a request to a row that none has; its carried rows are moved by the engine."""
        ...

    def leave(self, row: int, tokens: Sequence[int]) -> None:
        """Gives up what a row holds; of its tokens, prompt included, what is worth keeping may be kept."""
        ...

    def held(self) -> Mapping[str, int]:
        """What of its memory is in use, by name: all are 0 when no row is taken and nothing is kept."""
        ...


@runtime_checkable
class Checks(Protocol):
    """What a decoder may have beside, so that what it could never serve is refused at once."""

    def check(self, prompt: Prompt) -> None:
        """Raises RequestError. May be asked at any time, on any thread."""
        ...


@runtime_checkable
class Sized(Protocol):
    """What a decoder may have beside, whose rounds have other sizes than the number of requests too."""

    def sizes(self, live: int) -> Mapping[str, int]:
        """By dim, those of the next round of so many requests; one may be in flight. It is asked again
        for every round, and now and then for one that does not come."""
        ...


class Prefill(Protocol):
    """A prompt that is under way. What it holds of the memory it gives up when it is closed."""

    def advance(self) -> bool:
        """Runs a bounded part, while a round may be in flight; whether there is another."""
        ...

    def close(self) -> None:
        """Gives up what is left of it; called once, however it has ended."""
        ...


@runtime_checkable
class InParts(Protocol):
    """What a decoder may have beside, so that a long prompt holds up no round."""

    def prefill(self, prompt: Prompt, known: Sequence[int]) -> Prefill | None:
        """Of a prompt that is too long to be run at once. Several may be under way.

        After its last part `enter` has little left to do; then it is closed.
        """
        ...


@runtime_checkable
class ForSchedules(Protocol):
    """What a decoder may have beside, so that rounds may go over to a schedule of other sizes."""

    def for_schedule(self, schedule: Schedule) -> Decoder:
        """The same memory and the same rows under another schedule. Raises BindError."""
        ...
