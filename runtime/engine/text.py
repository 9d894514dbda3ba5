"""Tokens to text as they come: never half a letter, and nothing that may still become a stop text."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

Decode = Callable[[Sequence[int]], str]

HALF = "\N{REPLACEMENT CHARACTER}"
"""What the bytes of a letter decode to before all of them are there."""


class Text:
    """The text of one request. `decode` is given the newest tokens only, from where a letter began."""

    def __init__(self, decode: Decode, stops: Iterable[str] = ()):
        self._decode = decode
        self._stops = tuple(stop for stop in stops if stop)
        self._tokens: list[int] = []
        self._shown = 0
        """Tokens whose text is known; one before them is decoded again, since it may bear on a space."""
        self._held = ""
        self.stopped = False

    def take(self, token: int) -> str:
        """The text that is certain by now and was not before."""
        self._tokens.append(token)
        start = max(self._shown - 1, 0)
        before = self._decode(self._tokens[start : self._shown])
        text = self._decode(self._tokens[start:])
        if text.endswith(HALF):
            return ""
        self._shown = len(self._tokens)
        return self._certain(self._held + text[len(before) :])

    def rest(self) -> str:
        """What was held back, when no token comes any more."""
        if self.stopped:
            return ""
        start = max(self._shown - 1, 0)
        before = self._decode(self._tokens[start : self._shown])
        text = self._decode(self._tokens[start:])
        certain = self._certain(self._held + text[len(before) :])
        held, self._held = self._held, ""
        return certain + held

    def _certain(self, text: str) -> str:
        found = [at for stop in self._stops if (at := text.find(stop)) >= 0]
        if found:
            self.stopped = True
            self._held = ""
            return text[: min(found)]
        kept = max((_begun(text, stop) for stop in self._stops), default=0)
        cut = len(text) - kept
        self._held = text[cut:]
        return text[:cut]


def _begun(text: str, stop: str) -> int:
    """Letters at the end of a text with which a stop text may begin."""
    most = min(len(stop) - 1, len(text))
    return next((count for count in range(most, 0, -1) if text.endswith(stop[:count])), 0)
