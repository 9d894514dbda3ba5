"""The pages that the request in each row holds, from its first position to its last.

A request has all its pages from the beginning, so that none is ever stuck half way. Those of a beginning
that is known it shares; it writes only behind that.
"""

from __future__ import annotations

from collections.abc import Sequence

from plait.runtime.cache.pages import NOBODY, Pages
from plait.runtime.cache.prefixes import Prefixes


class Rows:
    """`most` pages a row."""

    def __init__(self, prefixes: Prefixes, most: int):
        self.prefixes = prefixes
        self.pages: Pages = prefixes.pages
        self.size = prefixes.size
        self.most = most
        self._held: dict[int, list[int]] = {}

    @property
    def span(self) -> int:
        """Positions of a row."""
        return self.most * self.size

    def has_room(self, tokens: Sequence[int], total: int) -> bool:
        """Whether these tokens, and as many as make `total` of them, could enter now."""
        known = self.prefixes.find(tokens)
        idle = sum(self.pages.users(page) == 0 for page in known)
        return self._pages_of(total) - len(known) <= self.pages.room - idle

    def could_enter(self, total: int) -> bool:
        """Whether so many tokens could, if nobody else were there."""
        return self._pages_of(total) <= min(self.most, self.pages.count - 1)

    def enter(self, row: int, tokens: Sequence[int], total: int) -> int:
        """Gives a row that none has its pages; how many positions are in them already.

        Raises NoRoom, and then gives none.
        """
        if row in self._held:
            raise ValueError(f"row {row} has a request")
        known = self.prefixes.find(tokens)
        self.pages.share(known)
        try:
            fresh = self.pages.take(self._pages_of(total) - len(known))
        except BaseException:
            self.pages.give_back(reversed(known))
            raise
        self._held[row] = known + fresh
        return len(known) * self.size

    def keep(self, row: int, tokens: Sequence[int]) -> None:
        """What a row's pages hold of these tokens may be found from now on."""
        self.prefixes.keep(tokens, self._held[row])

    def table(self, row: int) -> list[int]:
        """The page of every position, `size` at a time; behind the last, the page that is nobody's."""
        held = self._held[row]
        return held + [NOBODY] * (self.most - len(held))

    def move(self, source: int, target: int) -> None:
        """Takes a request to a row that none has; what is in its pages stays where it is."""
        if target in self._held:
            raise ValueError(f"row {target} has a request")
        self._held[target] = self._held.pop(source)

    def leave(self, row: int) -> None:
        """The last of a text is given back first, so that it is given up before its beginning."""
        self.pages.give_back(reversed(self._held.pop(row)))

    def _pages_of(self, total: int) -> int:
        return -(-total // self.size)
