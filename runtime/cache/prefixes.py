"""Pages that hold the beginnings of texts, found again by their tokens.

A page is known by the one before it and by its own tokens, so by all tokens up to its end. Both are
compared where they are looked up: that hashes meet decides nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count

from plait.runtime.cache.pages import Pages

Key = tuple[int, tuple[int, ...]]
"""The number of the beginning that goes before, 0 if none does, and the tokens from there."""


class Prefixes:
    """`size` positions a page. `ahead`: how many tokens behind a page what is in it depends on.

    Of a text only pages before its last token are known: with the last one a model begins anew, or it
    would say nothing of the token that follows.
    """

    def __init__(self, pages: Pages, size: int, ahead: int = 0):
        if not 0 <= ahead <= 1:
            raise ValueError(f"ahead = {ahead}: a page depends on its own tokens, and on one more")
        self.pages = pages
        self.size = size
        self.ahead = ahead
        self._numbers = count(1)
        self._found: dict[Key, tuple[int, int]] = {}
        """Of each beginning its number, which no other ever has, and the page that ends it."""
        self._key_of: dict[int, Key] = {}
        """By page."""
        pages.forget = self._forget

    def __len__(self) -> int:
        return len(self._found)

    def find(self, tokens: Sequence[int]) -> list[int]:
        """The pages of the longest beginning that is known."""
        found, number = [], 0
        for tokens_here in self._divided(tokens):
            number, page = self._found.get((number, tokens_here), (0, 0))
            if not page:
                break
            found.append(page)
        return found

    def keep(self, tokens: Sequence[int], pages: list[int]) -> None:
        """Remembers which pages hold a text. All have this user; where another page is known for the
        same beginning, it gets that one in place of its own."""
        number = 0
        for place, tokens_here in enumerate(self._divided(tokens)):
            key, page = (number, tokens_here), pages[place]
            if key not in self._found:
                self.pages.know(page)
                self._found[key] = next(self._numbers), page
                self._key_of[page] = key
            number, known = self._found[key]
            if known != page:
                self.pages.share([known])
                self.pages.give_back([page])
                pages[place] = known

    def _divided(self, tokens: Sequence[int]) -> list[tuple[int, ...]]:
        """The tokens that each page before the last token depends on."""
        whole = max(len(tokens) - 1, 0) // self.size
        starts = range(0, whole * self.size, self.size)
        return [tuple(tokens[start : start + self.size + self.ahead]) for start in starts]

    def _forget(self, page: int) -> None:
        del self._found[self._key_of.pop(page)]
