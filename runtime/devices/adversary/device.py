"""The adversary as a device: on one thread, whatever a schedule allows, the same for one seed."""

from __future__ import annotations

import mmap
from collections.abc import Callable, Iterable, Mapping
from random import Random
from typing import Any

import torch

from plait.runtime.devices.abilities import Abilities
from plait.runtime.devices.adversary.calls import Call, Work, work
from plait.runtime.devices.adversary.choice import InOrder, choice
from plait.runtime.devices.adversary.declared import (
    NOTHING,
    Access,
    Declared,
    Told,
    declared_of,
    loads_of,
)
from plait.runtime.devices.adversary.machine import Machine
from plait.runtime.devices.adversary.poison import poison
from plait.runtime.devices.adversary.queues import Event, Gate, Queue
from plait.runtime.devices.adversary.replay import Graph
from plait.runtime.devices.base import Step
from plait.runtime.devices.host_memory import HostMemory
from plait.runtime.devices.job import Job, explained
from plait.runtime.devices.tensors import tensors_of
from plait.runtime.schedule import Schedule


class Adversary(HostMemory):
    """`seed` None: everything as soon as it is issued, one at a time, and no poison: what the text says."""

    name = "adversary"
    capture_kind = "steps that are done anew, in any order that they allow"
    abilities = Abilities(graph_streams=True)

    def __init__(self, seed: int | None = 0):
        self.seed = seed
        self._random = Random(f"adversary {seed}")
        made = InOrder() if seed is None else choice(seed, self._random, None)
        self.machine = Machine(made, self._random, seed is not None)
        self._host = Host(self.machine)
        self._loads: dict[tuple[str, str], list[Access] | None] = {}
        self._events: list[Event] = []

    def told(self, schedule: Schedule) -> Callable[[int, Callable], Callable]:
        """Of the schedule it is to run; returns what it puts around the body of every phase."""
        if self.seed is not None:
            self.machine.choice = choice(self.seed, self._random, schedule)
        self.machine.lives.told(schedule)
        self._loads = loads_of(schedule)
        declared = declared_of(schedule)
        return lambda phase, body: Told(body, declared[phase])

    def sized(self, sizes: Iterable[Mapping[str, int]]) -> None:
        """How many rows are live in the round that is issued now, and in those before, the newest first."""
        self.machine.lives.sized(sizes)

    def host(self) -> Host:
        return self._host

    def stream(self, name: str, kind: str) -> Queue:
        made = Queue(name, self.machine)
        self.machine.queues.append(made)
        return made

    def events(self, name: str, count: int, external: bool = False) -> list[Event]:
        made = [Event(name, place, count) for place in range(count)]
        self._events += made
        return made

    def part(
        self, block: mmap.mmap, offset: int, dtype: str, shape: tuple[int, ...]
    ) -> torch.Tensor:
        made = super().part(block, offset, dtype, shape)
        if self.machine.poisons:
            poison(made)
        return made

    def copies(self, name: str, place: str, pairs: Iterable[tuple[Any, Any]]) -> Work:
        given: dict[str, Any] = {}
        accesses: dict[str, Access] = {}
        pairs = list(pairs)
        reads = list(self._loads.get((name, place)) or ())
        reads += [Access("reads")] * (len(pairs) - len(reads))  # such as copies that are padded
        for number, ((into, out_of), access) in enumerate(zip(pairs, reads, strict=True)):
            given |= {f"into{number}": into, f"out_of{number}": out_of}
            accesses |= {f"into{number}": Access("writes"), f"out_of{number}": access}
        return work(name, place, _copy, Declared(name, accesses), given)

    def call(self, name: str, place: str, body: Callable, arguments: dict[str, Any]) -> Work:
        declared = body.declared if isinstance(body, Told) else NOTHING
        for argument, access in declared.accesses.items():
            if access.pool is not None:
                self.machine.lies_in(access.pool, tensors_of(arguments[argument]))
        return work(name, place, body, declared, arguments)

    def capture(
        self,
        name: str,
        place: str,
        steps: list[Step],
        written: list[Any],
        pool: int | None = None,
    ) -> Graph:
        return Graph(name, place, steps, pool, self.machine)

    def synchronize(self) -> None:
        self.machine.finish()
        for queue in self.machine.queues:
            if queue.error is not None:
                raise queue.error

    def recover(self) -> list[BaseException]:
        """Goes on until nothing can, and forgets what went wrong, which it returns; each error once."""
        while ready := self.machine.ready():
            self.machine.act(ready[0])
        found = [queue.recovered() for queue in list(self.machine.queues)]
        for event in self._events:
            event.forget()
        return list(dict.fromkeys(one for one in found if one is not None))

    def close(self) -> None:
        self.machine.queues.clear()


class Host:
    """The host: it does at once what it is given, between beginnings and ends of what streams do."""

    name = "host"

    def __init__(self, machine: Machine):
        self.machine = machine
        self.round = 0

    def begin(self, round: int) -> None:
        for queue in self.machine.queues:
            if queue.error is not None:
                raise queue.error
        self.round = round

    def run(self, job: Job) -> None:
        self.machine.drift()
        lives = self.machine.lives
        call = Call(job, self.round, lives)
        lives.begun(call)
        try:
            job()
            job.ran = self.round
        except Exception as error:
            raise explained(error, job, self.name, self.round) from error
        finally:
            lives.ended(call)

    def rebind(self, job: Job, tasks: Iterable[tuple[Any, int]]) -> None:
        self.run(job)

    def wait(self, event: Event) -> None:
        if event.newest is not None:
            self.machine.until(event.newest)
            if event.newest.error is not None:
                raise event.newest.error

    def record(self, event: Event) -> None:
        """Of what the host has done, for a graph that waits for it from inside."""
        gate = Gate(Queue(self.name, self.machine), event.name)
        gate.opened = True
        event.record(gate, self.round)
        self.machine.drift()

    def leave(self) -> None:
        self.machine.lives.left(self.round)
        self.machine.drift()


def _copy(**given: torch.Tensor) -> None:
    for number in range(len(given) // 2):
        for into, out_of in zip(
            tensors_of(given[f"into{number}"]), tensors_of(given[f"out_of{number}"]), strict=True
        ):
            into.copy_(out_of)
