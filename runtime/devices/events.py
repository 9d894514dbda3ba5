"""Events of the CPU: each record of one is a gate, shut until its stream has come to it."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from plait.runtime.devices.streams import Stream


class Gate:
    """One record of an event: shut until its stream has come to it."""

    __slots__ = ("error", "number", "opened", "stream", "waiting")

    def __init__(self, stream: Stream, number: int = 0) -> None:
        self.stream = stream
        self.number = number
        """By which a trace tells records apart."""
        self.opened = False
        self.error: BaseException | None = None
        """What had gone wrong on its stream by then."""
        self.waiting: list[Any] | None = None
        """Streams to go on, and locks to release, when it opens."""

    def add(self, one: Any) -> bool:
        """Has a stream woken, or a lock released, when it opens. Whether it is open by now."""
        if self.waiting is None:
            self.waiting = [one]
        elif one not in self.waiting:
            self.waiting.append(one)
        return self.opened

    def block(self) -> None:
        """Holds up this thread until it opens."""
        lock = threading.Lock()
        lock.acquire()
        if not self.add(lock):  # if it opened in between, there is nobody left to release the lock
            lock.acquire()


class Event:
    __slots__ = ("gate", "name")

    def __init__(self, name: str) -> None:
        self.name = name
        self.gate: Gate | None = None


class Wait:
    """A stream's place behind a gate."""

    __slots__ = ("gate",)

    def __init__(self, gate: Gate) -> None:
        self.gate = gate

    def reached(self) -> None:
        """The stream is here and the gate is shut."""

    def passed(self) -> None:
        """The gate is open."""
