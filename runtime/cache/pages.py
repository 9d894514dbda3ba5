"""Which pages of a cache are whose, by counts of users.

A page has users, or is idle, or free. What is in an idle page is known, and may be asked for again; it
is given up, the longest idle first, when no page is free.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

NOBODY = 0
"""The page that rows without a request write to, and positions that are thrown away. Nobody takes it."""


class NoRoom(Exception):
    """More pages are asked for than there are without users."""


class Pages:
    def __init__(self, count: int):
        """`count` includes page 0. Raises ValueError for less than 2."""
        if count < 2:
            raise ValueError(f"{count} pages: there is one that is nobody's, and at least one more")
        self.count = count
        self.forget: Callable[[int], None] = lambda page: None
        """Told of a page that is given up, before it is anybody else's."""
        self._users = [0] * count
        self._known = [False] * count
        self._free = list(reversed(range(1, count)))
        """The one on top is taken first."""
        self._idle: dict[int, None] = {}
        """The longest idle first."""

    @property
    def room(self) -> int:
        """Pages without users."""
        return len(self._free) + len(self._idle)

    @property
    def used(self) -> int:
        return self.count - 1 - self.room

    @property
    def idle(self) -> int:
        return len(self._idle)

    def users(self, page: int) -> int:
        return self._users[page]

    def take(self, count: int) -> list[int]:
        """Pages with one user, whatever is in them. Raises NoRoom, and then takes none."""
        if count > self.room:
            raise NoRoom(f"{count} pages are asked for, and {self.room} are without users")
        taken = []
        for _ in range(count):
            if not self._free:
                self._give_up(next(iter(self._idle)))
            page = self._free.pop()
            self._users[page] = 1
            taken.append(page)
        return taken

    def share(self, pages: Iterable[int]) -> None:
        """One user more for each, which has users or is idle."""
        for page in pages:
            if self._users[page] == 0:
                del self._idle[page]
            self._users[page] += 1

    def give_back(self, pages: Iterable[int]) -> None:
        """One user less for each: of those that nobody uses then, what is known is idle, the rest free."""
        for page in pages:
            if self._users[page] == 0:
                raise ValueError(f"page {page} has no user")
            self._users[page] -= 1
            if self._users[page] == 0:
                if self._known[page]:
                    self._idle[page] = None
                else:
                    self._free.append(page)

    def know(self, page: int) -> None:
        """What is in a page that has users is known from now on, and no longer changes."""
        if self._known[page] or self._users[page] == 0:
            raise ValueError(f"page {page} is known already, or nobody's to fill")
        self._known[page] = True

    def drop(self) -> None:
        """Gives up all that is idle."""
        for page in list(self._idle):
            self._give_up(page)

    def _give_up(self, page: int) -> None:
        del self._idle[page]
        self._known[page] = False
        self.forget(page)
        self._free.append(page)
