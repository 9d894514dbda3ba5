"""Events of the CPU: each record of one is a gate, shut until its stream has come to it."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from plait.runtime.devices.streams import Stream


class Gate:
    """One record of an event: shut until its stream has come to it."""

    __slots__ = ("error", "number", "opened", "stream", "waiting")

    def __init__(self, stream: Any, number: int = 0) -> None:
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

    def give_up(self) -> None: ...


class Stopped(RuntimeError):
    """A round has stopped before a record that is waited for."""


class Ahead(Gate):
    """Stands for a record that is still to be issued, and opens with it."""

    __slots__ = ()

    def follow(self, gate: Gate) -> None:
        if gate.add(_Following(self, gate)):
            self.open(gate)
        else:
            self.stream = gate.stream

    def open(self, gate: Gate) -> None:
        self._open(gate.error)

    def give_up(self) -> None:
        """Opens although the record never came: its round has stopped before it."""
        self._open(Stopped(self.stream.name))

    def _open(self, error: BaseException | None) -> None:
        self.error = error
        self.opened = True
        for stream in self.waiting or ():
            stream.bell.put(True)


class _Following:
    """What a gate releases when it opens: the one that stands for it."""

    __slots__ = ("ahead", "gate")

    def __init__(self, ahead: Ahead, gate: Gate) -> None:
        self.ahead = ahead
        self.gate = gate

    def release(self) -> None:
        self.ahead.open(self.gate)


class External(Event):
    """An event that graphs wait for from inside: perhaps before it is recorded in that round."""

    __slots__ = ("_ahead", "_newest", "_round")

    def __init__(self, name: str) -> None:
        self._ahead: Ahead | None = None
        self._newest: Gate | None = None
        self._round = -1
        super().__init__(name)

    @property
    def gate(self) -> Gate | None:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self._newest

    @gate.setter
    def gate(self, gate: Gate | None) -> None:  # pyright: ignore[reportIncompatibleVariableOverride]
        self._newest = gate
        if gate is not None:
            self._round = gate.stream.giving
            if self._ahead is not None:
                self._ahead.follow(gate)
                self._ahead = None

    def give_up(self) -> None:
        """No record of the round that is waited for comes any more."""
        if self._ahead is not None:
            self._ahead.give_up()
            self._ahead = None

    def of_round(self, stream: Stream) -> Gate | None:
        """The gate of the record of the round that a stream is given, issued or not."""
        if self._round == stream.giving:
            return self._newest
        if self._ahead is None:
            self._ahead = Ahead(stream)
        return self._ahead


class Wait:
    """A stream's place behind a gate."""

    __slots__ = ("gate",)

    def __init__(self, gate: Gate) -> None:
        self.gate = gate

    def reached(self) -> None:
        """The stream is here and the gate is shut."""

    def passed(self) -> None:
        """The gate is open."""
