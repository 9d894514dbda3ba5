"""How large an exchange is: what its buffers, messages and limits follow from."""

from __future__ import annotations

from dataclasses import dataclass


class ExchangeError(Exception):
    """An exchange that cannot be made, or is used as it may not be: what, which limit, how to mend it."""


@dataclass(frozen=True)
class Sizes:
    """The same on every rank of the group but `rank`. Sizes are in elements."""

    ranks: int
    rank: int
    experts: int
    """Of all ranks together; each has as many, in order."""
    choices: int
    """Experts that a row goes to, at most."""
    hidden: int
    """Width of a row."""
    capacity: int
    """Rows that one rank sends in one low-latency exchange, at most."""

    def __post_init__(self) -> None:
        for name in ("ranks", "experts", "choices", "hidden", "capacity"):
            if getattr(self, name) < 1:
                raise ExchangeError(f"{name} is {getattr(self, name)}; it is a whole number from 1")
        if self.experts % self.ranks:
            raise ExchangeError(
                f"{self.experts} experts do not divide among {self.ranks} ranks: run as many ranks as "
                "divide the number of experts"
            )

    @property
    def local(self) -> int:
        """Experts of one rank."""
        return self.experts // self.ranks

    @property
    def own(self) -> slice:
        """This rank's experts."""
        return slice(self.rank * self.local, (self.rank + 1) * self.local)

    def capacity_for(self, rows: int, asked: int | None, name: str) -> int:
        """What one exchange of so many rows is given room for; `name` is of the exchange, for messages.

        None asks for all there is. Raises ExchangeError where the rows, or what is asked, is more.
        """
        capacity = self.capacity if asked is None else asked
        if not rows <= capacity <= self.capacity:
            raise ExchangeError(
                f"{name}: {rows} rows with a capacity of {capacity}; it was made for "
                f"{self.capacity}: make it larger, or send fewer"
            )
        return capacity
