"""What is in flight: at most so many operations, received in the order in which they were sent."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Generic, TypeVar

from plait.runtime.exchange.sizes import ExchangeError

T = TypeVar("T")


class Flights:
    """Those of one exchange. Its operations have one order on a rank, so nothing is locked."""

    def __init__(self, name: str, most: int):
        self.name = name
        self.most = most
        self.sent = 0
        """Operations so far."""
        self._flying: deque[Flight] = deque()

    def add(self, what: str, finish: Callable[[], T]) -> Flight[T]:
        """Call before the operation is sent. Raises ExchangeError when as many are in flight as may be."""
        if len(self._flying) >= self.most:
            held = " and ".join(flight.what for flight in self._flying)
            raise ExchangeError(
                f"{self.name}: {what} is sent while {held} are not received; its slots hold {self.most}: "
                "receive one before, or declare the pool in the spec so that the compiler finds this"
            )
        self.sent += 1
        flight = Flight(self, f"{what} {self.sent}", finish)
        self._flying.append(flight)
        return flight

    def remove(self, flight: Flight) -> None:
        if not self._flying or self._flying[0] is not flight:
            first = f"{self._flying[0].what} comes before it" if self._flying else "it was already"
            raise ExchangeError(f"{self.name}: {flight.what} cannot be received: {first}")
        self._flying.popleft()


class Flight(Generic[T]):
    """One operation, sent and not yet received."""

    def __init__(self, flights: Flights, what: str, finish: Callable[[], T]):
        self.what = what
        self._flights = flights
        self._finish = finish

    def receive(self) -> T:
        """Waits for it. Raises ExchangeError out of turn."""
        self._flights.remove(self)
        return self._finish()
