"""A graph whose steps go on each in their own stream's time, from its beginning to its end."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from plait.runtime.devices.adversary.calls import Call, declared_by
from plait.runtime.devices.adversary.queues import Gate, Queue, Wait
from plait.runtime.devices.tensors import tensors_of

if TYPE_CHECKING:
    from plait.runtime.devices.adversary.machine import Machine
    from plait.runtime.devices.base import Step


class Graph:
    def __init__(
        self, name: str, place: str, steps: list[Step], pool: int | None, machine: Machine
    ):
        self.name = name
        self.place = place
        self.steps = steps
        self.pool = pool
        self.machine = machine
        self.replays = 0
        self.ran = -1
        self.taken = 0
        """It has no memory of its own."""
        self.phases = tuple(what.name for op, _, what, _ in steps if op in ("run", "task"))
        self.kernels = len(self.phases)
        self.results = [
            tensor
            for op, _, what, _ in steps
            if op in ("run", "task")
            for name in declared_by(what).results
            for tensor in tensors_of(what.keywords[name])
        ]
        """What it writes that lies in its pool: lost when a graph of the pool replays."""

    def issued(self, origin: Queue) -> Replay:
        return Replay(self, origin, [*self._items(origin.round)])

    def _items(self, round: int) -> Iterator[tuple[Any, Any]]:
        """Streams, each with what it is given while the graph is captured."""
        for op, stream, what, _ in self.steps:
            if op in ("run", "task"):
                yield stream, self.machine.call(what, round)
            elif op == "external":
                wait = what.from_inside(round)
                if wait is not None:
                    yield stream, wait
            else:
                yield stream, (op, what)


class Replay:
    """One launch of a graph: its streams begin with it, and it ends when they are done."""

    def __init__(self, graph: Graph, origin: Queue, items: list[tuple[Any, Any]]):
        self.graph = graph
        self.name = graph.name
        self.round = origin.round
        self.machine = graph.machine
        self._origin = origin
        self._items = items
        self._queues: dict[Any, Queue] = {}

    def begin(self) -> None:
        self.graph.replays += 1
        self.machine.forget_results(self.graph)
        gates: dict[int, Gate] = {}
        for stream, item in self._items:
            queue = self._queue(stream)
            if isinstance(item, tuple):
                op, number = item
                if op == "record":
                    gates[number] = Gate(queue, f"{self.name}.{number}")
                gate = gates[number]
                item = gate if op == "record" else Wait(gate, gate.name)
            queue.items.append(item)
        self.machine.queues += self._queues.values()

    @property
    def may_end(self) -> bool:
        return all(queue.idle for queue in self._queues.values())

    @property
    def held_by(self) -> Queue | None:
        return next((one for one in self._queues.values() if not one.idle), None)

    def end(self) -> None:
        for queue in self._queues.values():
            self.machine.queues.remove(queue)
            self._origin.error = self._origin.error or queue.error
        if self._origin.error is None:
            self.graph.ran = self.round

    def dropped(self) -> None:
        inside = list(self._queues.values())
        self.machine.queues = [one for one in self.machine.queues if one not in inside]
        for _, item in self._items:
            if isinstance(item, Call):
                item.dropped()

    def _queue(self, stream: Any) -> Queue:
        if stream not in self._queues:
            inside = Queue(f"{stream.name} in {self.name}", self.machine)
            inside.round = self.round
            self._queues[stream] = inside
        return self._queues[stream]
