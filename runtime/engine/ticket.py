"""A request as the rounds know it: where it stands in the queue, what it has, and when it ends."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable

from plait.runtime.engine.piece import End, Logprob, Piece
from plait.runtime.engine.prompt import Prompt
from plait.runtime.engine.text import Decode, Text


class Ticket:
    """Ordered as requests are served: by priority, then as they came."""

    def __init__(
        self, number: int, prompt: Prompt, put: Callable[[Piece], None], decode: Decode | None
    ):
        self.number = number
        self.prompt = prompt
        self.put = put
        """Takes a piece to whoever reads, on the reader's thread."""
        self.given = time.monotonic()
        self.due = None if prompt.deadline is None else self.given + prompt.deadline
        self.tokens: list[int] = []
        self.end: End | None = None
        self.error = ""
        self.cancelled = False
        """Set by whoever reads; the rounds see to it."""
        self.read_whole = False
        """Whether nobody waits for what comes before its end. Set by whoever reads."""
        self.reused = 0
        self._text = None if decode is None else Text(decode, prompt.stop_texts)

    def __lt__(self, other: Ticket) -> bool:
        return (self.prompt.priority, self.number) < (other.prompt.priority, other.number)

    @property
    def known(self) -> tuple[int, ...]:
        return (*self.prompt.tokens, *self.tokens)

    def called_off(self, now: float) -> End | None:
        """Why it is to end before it is done, if it is."""
        if self.cancelled:
            return End.CANCELLED
        return End.DEADLINE if self.due is not None and now >= self.due else None

    def take(self, tokens: Iterable[int], logprobs: Iterable[Logprob] = ()) -> Piece | None:
        """Adds tokens until it is done; None: it was already."""
        if self.end is not None:
            return None
        stops, room = self.prompt.stop_tokens, self.prompt.max_tokens - len(self.tokens)
        new: list[int] = []
        text = ""
        for token in tokens:
            if token in stops:
                self.end = End.STOP
                break
            new.append(token)
            if self._text is not None:
                text += self._read(self._text, token)
            if self.end is None and len(new) >= room:
                self.end = End.LENGTH
            if self.end is not None:
                break
        self.tokens += new
        return Piece(
            tuple(new),
            text if self.end is None else text + self._rest(),
            tuple(logprobs)[: len(new)],
            self.end,
            self.error,
            self.reused,
        )

    def close(self, end: End, error: str = "") -> Piece:
        """Ends it as it stands."""
        self.end, self.error = end, error
        return Piece(text=self._rest(), end=end, error=error)

    def _read(self, text: Text, token: int) -> str:
        try:
            found = text.take(token)
        except Exception as error:
            self._unreadable(error)
            return ""
        if text.stopped:
            self.end = End.STOP
        return found

    def _rest(self) -> str:
        if self._text is None:
            return ""
        try:
            return self._text.rest()
        except Exception as error:
            self._unreadable(error)
            return ""

    def _unreadable(self, error: Exception) -> None:
        self.end = End.FAILED
        self.error = f"its tokens cannot be decoded: {type(error).__name__}: {error}"
        self._text = None
