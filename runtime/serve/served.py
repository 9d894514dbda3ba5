"""A model as it is served: its name, its texts, and how much of it one request may have."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from plait.runtime.engine.reported import likeliest
from plait.runtime.models.tokenizer import Tokenizer
from plait.runtime.schedule import Schedule
from plait.runtime.serve.chat import COMMENTS, Template


class Texts(Protocol):
    """Text to tokens and back."""

    def encode(self, text: str) -> Sequence[int]: ...

    def decode(self, ids: Sequence[int]) -> str:
        """Bytes that are no whole character come back as U+FFFD."""
        ...

    def spelt(self, token: int) -> bytes:
        """What one token stands for; it may be a part of a character."""
        ...


@dataclass(frozen=True)
class Served:
    name: str
    texts: Texts
    opening: tuple[int, ...] = ()
    """Tokens before every text."""
    stop: frozenset[int] = frozenset()
    """Tokens with which a text is over."""
    longest: int = 1 << 30
    """Bytes of the longest token: a text of more than so many a token is refused unread."""
    tops: int | None = None
    """Likeliest tokens of which log probabilities go out at most; None: none do, of no token."""
    template: Template | None = COMMENTS
    """None: it has no chat."""


@dataclass(frozen=True)
class Limits:
    body: int = 1 << 18
    """Bytes of a request."""
    prompt: int | None = None
    """Tokens of a prompt; None: as the model's context."""
    new: int | None = None
    """New tokens of a request; None: as the model's context."""
    patience: float = 30.0
    """Seconds for which the head of a request may take to come, as many for its body, and for which a client
    may take nothing of its answer."""
    deadline: float | None = None
    """Seconds after which a request is ended as it stands."""


def served_tiny(name: str, tokenizer: Tokenizer, opener: int, schedule: Schedule) -> Served:
    """The model that comes with Plait, under a schedule."""
    longest = max(len(tokenizer.spelt(token)) for token in range(tokenizer.size))
    return Served(
        name, tokenizer, (opener,), frozenset({opener}), longest, tops=likeliest(schedule)
    )
