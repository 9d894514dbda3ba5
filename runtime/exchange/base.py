"""What an exchange is to the phases of an expert layer: the protocol on one page.

Low latency: `send` and `send_back` start an exchange of at most `capacity` rows and return what is in
flight; `receive` of that waits for it. No shape depends on data. Two results may be held at once.

Normal: `dispatch` and `combine` are whole, and as long as the rows are. The host learns sizes from the
others, so no graph holds them.
"""

from __future__ import annotations

from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from torch import Tensor

from plait.runtime.exchange.flavours import Flavour
from plait.runtime.exchange.sizes import Sizes

T = TypeVar("T", covariant=True)


class Received(NamedTuple):
    """What came for this rank's experts. How rows lie is the flavour's `layout`."""

    rows: Tensor
    counts: Tensor
    """Rows of each expert of this rank."""
    handle: Any
    """For the way back."""


class Gathered(NamedTuple):
    """What came in normal form: how rows lie, and who weighs, is the flavour's `normal`."""

    rows: Tensor
    """`[N, hidden]`."""
    counts: list[int]
    """Rows for each expert of this rank."""
    ids: Tensor | None
    """`i64[N, choices]`, from this rank's first expert on, -1: none of its; None by choice."""
    weights: Tensor | None
    """`[N, choices]`; None by choice."""
    handle: Any


class InFlight(Protocol, Generic[T]):
    def receive(self) -> T:
        """Waits for it. Called once, in the order of sending."""
        ...


class Exchange(Protocol):
    name: str
    """Says what carries the rows, for reports."""
    flavour: Flavour
    sizes: Sizes

    def send(self, rows: Tensor, ids: Tensor, capacity: int | None = None) -> InFlight[Received]:
        """Each of `rows`, `[T, hidden]`, to the experts `ids`, `i64[T, choices]`; -1: to none.

        `capacity`, if not that of the sizes, is the same on all ranks.
        """
        ...

    def send_back(
        self, rows: Tensor, ids: Tensor, weights: Tensor, handle: Any
    ) -> InFlight[Tensor]:
        """What experts made of received rows, back and summed by `weights`, `[T, choices]`."""
        ...

    def exchange(self, rows: Tensor, ids: Tensor, capacity: int | None = None) -> Received:
        """`send`, received at once: a graph can hold it."""
        ...

    def exchange_back(self, rows: Tensor, ids: Tensor, weights: Tensor, handle: Any) -> Tensor:
        """`send_back`, received at once: a graph can hold it."""
        ...

    def dispatch(self, rows: Tensor, ids: Tensor, weights: Tensor) -> Gathered: ...

    def combine(self, rows: Tensor, handle: Any) -> Tensor:
        """Rows as `dispatch` gave them, back and summed; weighed too, where they lie by choice."""
        ...

    def close(self) -> None: ...
