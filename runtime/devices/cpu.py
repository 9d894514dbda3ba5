"""The CPU as a device.

Depends on torch and the standard library alone: a schedule emitted as Python carries this file, and
those it builds on.
"""

from __future__ import annotations

import math
import mmap
import weakref
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import torch

from plait.runtime.devices.abilities import Abilities
from plait.runtime.devices.events import Event, Gate
from plait.runtime.devices.graph import PythonReplayer, Replayer, capture
from plait.runtime.devices.host import Host
from plait.runtime.devices.job import Job, job
from plait.runtime.devices.pace import Pace
from plait.runtime.devices.streams import Stream

if TYPE_CHECKING:
    from plait.runtime.devices.base import Step

DTYPES = {
    "bool": torch.bool,
    "u8": torch.uint8,
    "i8": torch.int8,
    "i16": torch.int16,
    "i32": torch.int32,
    "i64": torch.int64,
    "f16": torch.float16,
    "bf16": torch.bfloat16,
    "f32": torch.float32,
    "f64": torch.float64,
}


class Cpu:
    name = "cpu"
    abilities = Abilities()

    def __init__(
        self,
        replayer: Replayer | None = None,
        stream: Callable[[str, Pace], Stream] = Stream,
        host: Callable[[Pace], Host] = Host,
    ):
        self._replayer = replayer or PythonReplayer()
        self.capture_kind = self._replayer.kind
        self._stream = stream
        self._pace = Pace()
        self.streams = self._pace.streams
        self._host = host(self._pace)
        self._events: list[Event] = []
        weakref.finalize(self, self._pace.end)  # threads do not outlive a device that nobody closes

    def host(self) -> Host:
        return self._host

    def stream(self, name: str, kind: str) -> Stream:
        made = self._stream(name, self._pace)
        self.streams.append(made)
        return made

    def events(self, name: str, count: int, external: bool = False) -> list[Event]:
        made = [Event(name) for _ in range(count)]
        self._events += made
        return made

    def empty(self, dtype: str, shape: tuple[int, ...], memory: str) -> torch.Tensor:
        return torch.zeros(shape, dtype=DTYPES[dtype])

    def block(self, size: int) -> mmap.mmap:
        return mmap.mmap(-1, size)

    def part(
        self, block: mmap.mmap, offset: int, dtype: str, shape: tuple[int, ...]
    ) -> torch.Tensor:
        # A storage of its own, by which a capture tells what one buffer's memory is from another's.
        count = math.prod(shape)
        made = torch.frombuffer(block, dtype=DTYPES[dtype], count=count, offset=offset)
        return made.view(shape)

    def size(self, value: Any) -> int:
        return sum(tensor.nbytes for tensor in tensors_of(value))

    def tensors(self, value: Any) -> list[torch.Tensor]:
        return tensors_of(value)

    def shadow(self, value: Any) -> Any:
        return map_tensors(torch.clone, value)

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
        # One stream replays it, in issue order, which every order within a graph allows.
        calls = [what for op, _, what, _ in steps if op in ("run", "task")]
        tensors = [tensor for value in written for tensor in tensors_of(value)]
        graph = capture(name, place, calls, tensors, self._replayer)
        graph.job = job(name, place, graph.replay)
        return graph

    def synchronize(self) -> None:
        for gate in [stream.gate() for stream in self.streams]:
            if gate is not None:
                self._host.pass_gate(gate)

    def recover(self) -> list[BaseException]:
        gates = [Gate(stream) for stream in self.streams]
        for gate in gates:
            gate.stream.give(gate)
        for gate in gates:
            self._host.reach(gate)
        found = {id(gate.error): gate.error for gate in gates if gate.error is not None}
        for stream in self.streams:
            stream.error = None
        for event in self._events:
            event.gate = None
        self._pace.failure = None
        return list(found.values())

    def close(self) -> None:
        self._pace.close()
        self.streams.clear()


def map_tensors(function: Callable, value: Any) -> Any:
    """A tensor, or a dict, list or tuple of such values, with every tensor replaced."""
    if isinstance(value, torch.Tensor):
        return function(value)
    if isinstance(value, dict):
        return {key: map_tensors(function, one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        made = [map_tensors(function, one) for one in value]
        return type(value)(*made) if hasattr(value, "_fields") else type(value)(made)
    kind = type(value).__name__
    raise TypeError(f"it is a tensor, or a dict, list or tuple of them, not {kind}")


def tensors_of(value: Any) -> list[torch.Tensor]:
    found: list[torch.Tensor] = []
    map_tensors(found.append, value)
    return found
