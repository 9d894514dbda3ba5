"""The CPU as a device.

Depends on torch and the standard library alone: a schedule emitted as Python carries this file, and
those it builds on.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import torch

from plait.runtime.devices.abilities import Abilities
from plait.runtime.devices.events import Event, External, Gate, Stopped
from plait.runtime.devices.graph import PythonReplayer, Replayer, capture
from plait.runtime.devices.host import Host
from plait.runtime.devices.host_memory import HostMemory
from plait.runtime.devices.job import Job, job
from plait.runtime.devices.memory import Pool
from plait.runtime.devices.pace import Pace
from plait.runtime.devices.streams import Stream
from plait.runtime.devices.tensors import tensors_of

if TYPE_CHECKING:
    from plait.runtime.devices.base import Step


class Cpu(HostMemory):
    name = "cpu"
    abilities = Abilities()

    def __init__(
        self,
        replayer: Replayer | None = None,
        stream: Callable[[str, Pace], Stream] = Stream,
        host: Callable[[Pace], Host] = Host,
        trace: Any = None,
    ):
        self.trace = trace
        """What notes all that runs, if anything does."""
        self._replayer = replayer or PythonReplayer()
        self._stream = stream
        self._pace = Pace()
        self.streams = self._pace.streams
        self._host = host(self._pace)
        self._events: list[Event] = []
        self._pools: dict[int, Pool] = {}
        weakref.finalize(self, self._pace.end)  # threads do not outlive a device that nobody closes

    @property
    def capture_kind(self) -> str:
        return self._replayer.kind

    def host(self) -> Host:
        return self._host

    def stream(self, name: str, kind: str) -> Stream:
        made = self._stream(name, self._pace)
        self.streams.append(made)
        return made

    def events(self, name: str, count: int, external: bool = False) -> list[Event]:
        kind = External if external else Event
        made = [kind(name) for _ in range(count)]
        self._events += made
        return made

    def copies(self, name: str, place: str, pairs: Iterable[tuple[Any, Any]]) -> Job:
        into: list[torch.Tensor] = []
        out_of: list[torch.Tensor] = []
        for first, second in pairs:
            into += tensors_of(first)
            out_of += tensors_of(second)
        return job(name, place, torch.ops.aten._foreach_copy_.default, into, out_of)

    def call(self, name: str, place: str, body: Callable, arguments: dict[str, Any]) -> Job:
        return job(name, place, body, **arguments)

    def capture(
        self,
        name: str,
        place: str,
        steps: list[Step],
        written: list[Any],
        pool: int | None = None,
    ) -> Any:
        # One stream replays it, in issue order, which every order within a graph allows; where it waits
        # for an event outside, one graph ends and another begins.
        tensors = [tensor for value in written for tensor in tensors_of(value)]
        shared = None if pool is None else self._pools.setdefault(pool, Pool())
        graph: Any = None
        watch = None if self.trace is None else self.trace.watch(steps[0][1])
        for wait, calls in _parts(steps):
            part = capture(name, place, calls, tensors, self._replayer, shared, watch)
            part.job = job(name, place, part.replay)
            if graph is None:
                graph = part
                continue
            graph.rest.append((*wait, part.job))
            graph.phases += part.phases
            graph.kernels += part.kernels
            graph.taken += part.taken
        return graph

    def synchronize(self) -> None:
        for gate in [stream.gate() for stream in self.streams]:
            if gate is not None:
                self._host.pass_gate(gate)

    def recover(self) -> list[BaseException]:
        for event in self._events:
            event.give_up()
        gates = [Gate(stream) for stream in self.streams]
        for gate in gates:
            gate.stream.give(gate)
        for gate in gates:
            self._host.reach(gate)
        errors = [gate.error for gate in gates]
        found = {id(one): one for one in errors if not isinstance(one, Stopped | None)}
        for stream in self.streams:
            stream.error = None
        for event in self._events:
            event.gate = None
        self._pace.failure = None
        return list(found.values())

    def close(self) -> None:
        self._pace.close()
        self.streams.clear()


def _parts(steps: list[Step]) -> list[tuple[Any, list[Job]]]:
    """The calls behind each event outside that the steps wait for, with it and how many rounds back."""
    parts: list[tuple[Any, list[Job]]] = [((), [])]
    for op, _, what, numbers in steps:
        if op == "external":
            parts.append(((what, *numbers), []))
        elif op in ("run", "task"):
            parts[-1][1].append(what)
    return parts
