"""What an engine tells whoever watches it, on the thread of its event loop, so that no round waits."""

from __future__ import annotations

from dataclasses import dataclass

from plait.runtime.engine.piece import End
from plait.runtime.engine.prompt import Prompt
from plait.runtime.trace import Slice


@dataclass(frozen=True)
class Round:
    """A round whose tokens have been taken."""

    number: int
    schedule: str
    settings: str
    """The schedule's settings, as `num_steps=2`."""
    bucket: int
    """Requests it has room for."""
    live: int
    committed: tuple[int, ...]
    """Of each live request the tokens that the round gave it, its own and accepted ones."""
    seconds: float
    """From when it was issued, or the round before was taken if that was later, until its tokens were."""
    slices: tuple[Slice, ...] = ()
    """What ran on each stream, where the engine keeps a trace."""
    exposed: float | None = None
    """Seconds of those from its first slice to its last in which no phase ran; None without a trace."""
    route: str = ""
    """Which of its routes it took, as `ready=True`, where there are several."""

    @property
    def padding(self) -> float:
        """The share of its rows that are nobody's."""
        return 1 - self.live / self.bucket


@dataclass(frozen=True)
class Request:
    """A request as observers know it."""

    number: int
    """In the order of `submit`."""
    prompt: Prompt


@dataclass(frozen=True)
class Entered:
    """A request has come into a row, for the first time."""

    request: Request
    waited: float
    """Seconds in the queue, what ran of its prompt there included."""
    prefill: float
    """Seconds for which rounds stood still for it."""
    reused: int
    """Tokens of its prompt that were in the cache."""


@dataclass(frozen=True)
class Ended:
    """A request has ended; nothing more comes of it."""

    request: Request
    end: End
    tokens: int
    """New ones."""
    seconds: float
    """Since it was given."""
    error: str = ""


@dataclass(frozen=True)
class Fault:
    """A round has failed; what was live in it is restored, or failed with it."""

    error: str
    restored: bool


@dataclass(frozen=True)
class Swapped:
    """Rounds have gone over to another schedule."""

    schedule: str
    settings: str
    why: str
    """`asked`, or `policy`."""
    entered_again: bool
    """Whether requests were prefilled again, since what is carried does not fit."""


class Observer:
    """Does nothing of all it is told: override what you want to know. What it raises goes to the log."""

    def queued(self, request: Request, waiting: int) -> None:
        """`waiting`: requests that are in no row, this one included."""

    def entered(self, told: Entered) -> None:
        """A request is in a row, and its first token is there."""

    def round(self, told: Round) -> None:
        """The tokens of a round have been taken."""

    def ended(self, told: Ended) -> None:
        """A request has given its last piece."""

    def fault(self, told: Fault) -> None:
        """A round has failed."""

    def swapped(self, told: Swapped) -> None:
        """Rounds go on with another schedule."""
