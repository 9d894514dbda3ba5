"""An NPU or a CUDA GPU as a device."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import torch

from plait.runtime.devices.accelerator import memory as memories
from plait.runtime.devices.accelerator.capture import capture
from plait.runtime.devices.accelerator.events import Event
from plait.runtime.devices.accelerator.external import External
from plait.runtime.devices.accelerator.graph import Graph
from plait.runtime.devices.accelerator.here import found
from plait.runtime.devices.accelerator.kinds import Kind
from plait.runtime.devices.accelerator.meanings import meant
from plait.runtime.devices.accelerator.streams import Host, Stream
from plait.runtime.devices.base import DeviceError
from plait.runtime.devices.job import Job, explained, job
from plait.runtime.devices.tensors import Values, tensors_of

if TYPE_CHECKING:
    from plait.runtime.devices.base import Step


class Accelerator(Values):
    """One device, the current one of its kind from here on. Raises DeviceError if it is not there."""

    def __init__(self, kind: Kind, index: int | None = None):
        self.kind = kind
        self.calls, self.index = found(kind, index)
        self.name = f"{kind.name}:{self.index}"
        self.capture_kind = kind.graphs
        self.abilities = kind.abilities
        self.calls.set_device(device=self.index)
        self.place = torch.device(kind.name, self.index)
        self._streams: list[Stream] = []
        self.external = External(kind, self.calls)
        self._graphs: weakref.WeakSet[Graph] = weakref.WeakSet()
        self._pools: dict[int, Any] = {}
        self._host = Host(self)
        self._rested = True
        """Whether nothing was issued since all was waited for, and the caller may have touched buffers."""

    def host(self) -> Host:
        return self._host

    def stream(self, name: str, kind: str) -> Stream:
        made = Stream(name, self._unused(name), self)
        self._streams.append(made)
        return made

    def _unused(self, name: str) -> Any:
        """A stream of torch's pool that is none of ours: the pool deals them out in turn, over and over."""
        held = [stream.native for stream in self._streams]
        for _ in range(self.abilities.streams or 0):
            native = self.calls.stream(device=self.index)
            if native not in held:
                return native
        names = ", ".join([*(stream.name for stream in self._streams), name])
        raise DeviceError(
            f"{self.name} has {len(held)} streams that run side by side, and {names} are "
            f"{len(held) + 1}: two of them would be one and the same"
        )

    def events(self, name: str, count: int, external: bool = False) -> list[Event]:
        if not external:
            return [Event(name, self.calls.event()) for _ in range(count)]
        return [self.external.event(name, self.current_stream()) for _ in range(count)]

    def empty(self, dtype: str, shape: tuple[int, ...], memory: str) -> torch.Tensor:
        if memory == "parameters" and not self.abilities.task_update:
            memory = "device"
        return memories.empty(dtype, shape, memory, self.place)

    def block(self, size: int) -> torch.Tensor:
        return torch.zeros(size, dtype=torch.uint8, device=self.place)

    def part(
        self, block: torch.Tensor, offset: int, dtype: str, shape: tuple[int, ...]
    ) -> torch.Tensor:
        return memories.part(block, offset, dtype, shape)

    def shadow(self, value: Any) -> Any:
        return memories.shadow(value, self.place)

    def copies(self, name: str, place: str, pairs: Iterable[tuple[Any, Any]]) -> Job:
        return job(name, place, memories.copy, memories.copies(pairs))

    def call(self, name: str, place: str, body: Callable, arguments: dict[str, Any]) -> Job:
        return job(name, place, body, **arguments)

    def capture(
        self,
        name: str,
        place: str,
        steps: list[Step],
        written: list[Any],
        pool: int | None = None,
    ) -> Graph:
        if pool is not None and pool not in self._pools:
            self._pools[pool] = self.calls.pool()
        tensors = [tensor for value in written for tensor in tensors_of(value)]
        handle = None if pool is None else self._pools[pool]
        graph = capture(self, name, place, steps, tensors, handle)
        self._graphs.add(graph)
        return graph

    def synchronize(self) -> None:
        try:
            self.finish()
        except Exception as error:
            said = meant(error, self.kind.meanings)
            kernel = job("a kernel", self.name, self.finish)  # of which phase, no device says
            raise explained(said, kernel, "a stream", self._host.round) from error
        self._rested = True

    def recover(self) -> list[BaseException]:
        """Waits until nothing runs. What went wrong was raised where it did."""
        self.stop()
        self.synchronize()
        return []

    def close(self) -> None:
        self.stop()
        with suppress(Exception):  # the device may have failed, and is given up all the same
            self.finish()
        for graph in list(self._graphs):
            with suppress(Exception):
                self.calls.reset(graph.native)
        self._streams.clear()
        self._pools.clear()

    def stop(self) -> None:
        """Ends a round in the middle."""
        self._rested = True
        with suppress(Exception):  # the device may be what has failed, which is said already
            self._host.leave()
            self.external.settle(self.current_stream())

    def see_what_came_before(self, native: Any) -> None:
        """What the caller did to buffers while nothing ran is done before the round begins."""
        if self._rested:
            self.calls.finish(native)
            self._rested = False

    def finish(self) -> None:
        """Holds the host up until the device has nothing left to do."""
        self.calls.synchronize(device=self.index)

    def current_stream(self) -> Any:
        return self.calls.current_stream(device=self.index)

    def set_stream(self, native: Any) -> None:
        self.calls.set_stream(stream=native)
