"""What comes of a request, piece by piece."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum


class End(StrEnum):
    """Why a request has ended."""

    STOP = "stop"
    """A token or a text that ends it came."""
    LENGTH = "length"
    """It has as many tokens as it asked for."""
    DEADLINE = "deadline"
    """The seconds that its prompt gave it are over."""
    CANCELLED = "cancelled"
    """Nobody wants more of it."""
    FAILED = "failed"
    """The piece says what failed, in `error`."""


@dataclass(frozen=True)
class Logprob:
    """How likely one new token was, as natural logarithms of probabilities."""

    logprob: float
    """Of the token itself, the logarithm of its probability."""
    top: tuple[tuple[int, float], ...] = ()
    """The likeliest tokens with theirs, likeliest first."""


@dataclass(frozen=True)
class Piece:
    """Some new tokens, and from the last one why there are no more."""

    tokens: tuple[int, ...] = ()
    text: str = ""
    """Where the engine can decode; what may still become a stop text, or half a letter, comes later."""
    logprobs: tuple[Logprob, ...] = ()
    """One a token, where the prompt asked for them."""
    end: End | None = None
    error: str = ""
    """What failed."""
    reused: int = 0
    """Tokens of the prompt that were in the cache."""


def joined(pieces: Iterable[Piece]) -> Piece:
    """All of them in one."""
    given = list(pieces)
    last = given[-1] if given else Piece()
    return Piece(
        tuple(token for piece in given for token in piece.tokens),
        "".join(piece.text for piece in given),
        tuple(one for piece in given for one in piece.logprobs),
        last.end,
        last.error,
        max((piece.reused for piece in given), default=0),
    )
