"""Streams that do nothing by themselves: what they are given lies there until the machine's choice."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from plait.runtime.devices.adversary.calls import Call
from plait.runtime.devices.job import explained

if TYPE_CHECKING:
    from plait.runtime.devices.adversary.machine import Machine
    from plait.runtime.devices.adversary.replay import Graph, Replay


class Gate:
    """One record of an event."""

    __slots__ = ("error", "name", "opened", "queue")

    def __init__(self, queue: Queue, name: str):
        self.queue = queue
        self.name = name
        self.opened = False
        self.error: BaseException | None = None
        """What had gone wrong on its stream by then."""


class Event:
    """Stands for its newest record; for a graph, for that of the round that its place is of."""

    def __init__(self, name: str, place: int, count: int):
        self.name = name
        self.place = place
        self.count = count
        self.newest: Gate | None = None
        self._last = -1
        self._ahead: dict[int, list[Wait]] = {}
        """Of rounds to come, the waits of graphs that were issued before the record."""

    def record(self, gate: Gate, round: int) -> None:
        self.newest, self._last = gate, round
        for wait in self._ahead.pop(round, ()):
            wait.gate = gate

    def forget(self) -> None:
        """It counts as never recorded."""
        self.newest, self._last = None, -1
        self._ahead.clear()

    def from_inside(self, round: int) -> Wait | None:
        """The wait of a graph that is issued in a round; None: in none so far there was a record."""
        meant = round - (round - self.place) % self.count
        if meant < 0:
            return None
        wait = Wait(self.newest if self._last == meant else None, self.name)
        if wait.gate is None:
            self._ahead.setdefault(meant, []).append(wait)
        return wait


class Wait:
    """A stream's place behind a record; within a graph, perhaps of one that is still to be issued."""

    __slots__ = ("gate", "name")

    def __init__(self, gate: Gate | None, name: str):
        self.gate = gate
        self.name = name

    @property
    def over(self) -> bool:
        return self.gate is not None and self.gate.opened


class Queue:
    """What a stream was given and has not done, in order. One thing at a time is in flight."""

    def __init__(self, name: str, machine: Machine):
        self.name = name
        self.machine = machine
        self.round = 0
        """Of what it is given."""
        self.items: deque[Any] = deque()
        """Calls, replays, records (a Gate) and waits."""
        self.flying: Call | Replay | None = None
        self.error: BaseException | None = None

    # As a stream

    def begin(self, round: int) -> None:
        self.round = round

    def run(self, job: Any) -> None:
        self.give(self.machine.call(job, self.round))

    def rebind(self, job: Any, tasks: Iterable[tuple[Any, int]]) -> None:
        self.run(job)  # a graph reads the parameters where they lie

    def replay(self, graph: Graph) -> None:
        self.give(graph.issued(self))

    def record(self, event: Event) -> None:
        gate = Gate(self, event.name)
        event.record(gate, self.round)
        self.give(gate)

    def wait(self, event: Event) -> None:
        if event.newest is not None:
            self.give(Wait(event.newest, event.name))

    # As what the machine chooses from

    def give(self, item: Any) -> None:
        self.items.append(item)
        self.machine.drift()

    @property
    def idle(self) -> bool:
        return not self.items and self.flying is None

    def settle(self) -> bool:
        """Does what takes no time and nobody can delay any further. Whether there was any."""
        any = False
        while self.items and self.flying is None:
            head = self.items[0]
            if isinstance(head, Gate):
                head.opened, head.error = True, self.error
            elif isinstance(head, Wait):
                if not head.over:
                    break
                self.error = self.error or (head.gate and head.gate.error)
            elif self.error is None:
                break
            else:
                head.dropped()
            self.items.popleft()
            any = True
        return any

    def recovered(self) -> BaseException | None:
        """What had gone wrong here, after which nothing is left to do and it takes work again."""
        found, self.error = self.error, None
        if self.flying is not None:
            self.flying.dropped()
        for item in self.items:
            if not isinstance(item, Gate | Wait):
                item.dropped()
        self.flying = None
        self.items.clear()
        return found

    @property
    def next(self) -> Call | Replay | None:
        """What would begin or end, if it were chosen; None where it cannot be."""
        if self.flying is not None:
            return self.flying if self.flying.may_end else None
        if self.items and not isinstance(self.items[0], Wait):
            return self.items[0]
        return None

    @property
    def held_by(self) -> Queue | None:
        """The stream that must go on before this one can."""
        if self.flying is not None:
            return self.flying.held_by
        gate = self.items[0].gate if self.items and isinstance(self.items[0], Wait) else None
        return None if gate is None else gate.queue

    def act(self) -> None:
        """Begins or ends one thing."""
        try:
            if self.flying is None:
                head = self.items.popleft()
                self.flying = head
                head.begin()
            else:
                flying, self.flying = self.flying, None
                flying.end()
        except Exception as error:
            failed, self.flying = self.flying, None
            if failed is not None:
                failed.dropped()
            self.error = explained(error, self._job(failed), self.name, self._round(failed))

    def _job(self, failed: Call | Replay | None) -> Any:
        return failed.job if isinstance(failed, Call) else None

    def _round(self, failed: Call | Replay | None) -> int:
        return self.round if failed is None else failed.round
