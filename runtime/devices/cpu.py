"""The CPU as a device: a stream is a thread that takes jobs in order, an event is a lock.

Depends on torch and the standard library alone: a schedule emitted as Python carries this file.

Each thread sets its own thread count to one and its own gradient mode to off: both are settings of
the thread in torch, and a thread that leaves them alone runs small kernels many times slower. The
hand-over is a raw lock and a SimpleQueue, the cheapest pair the standard library has.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from functools import partial
from queue import SimpleQueue
from typing import Any

import torch

from .replay import capture

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


class PhaseError(RuntimeError):
    """A phase failed. The original error is its `__cause__`."""


class Job(partial):
    """A call that knows its name in the spec and the line it stands on."""

    name: str
    place: str


def job(name: str, place: str, function: Callable, *arguments: Any, **named: Any) -> Job:
    made = Job(function, *arguments, **named)
    made.name, made.place = name, place
    return made


class Gate:
    """One record of an event: shut until the recording stream comes to it."""

    __slots__ = ("error", "lock", "number")

    def __init__(self, number: int = 0) -> None:
        self.number = number
        """By which a trace tells records apart."""
        self.error: BaseException | None = None
        """What had gone wrong on the recording stream by then."""
        self.lock = threading.Lock()
        self.lock.acquire()

    def wait(self) -> None:
        self.lock.acquire()
        self.lock.release()
        if self.error is not None:
            raise self.error


class Event:
    __slots__ = ("gate", "name")

    def __init__(self, name: str) -> None:
        self.name = name
        self.gate: Gate | None = None


class Stream:
    """A queue and the one thread that empties it.

    After a failure the thread runs nothing more, but still opens every gate, with the failure in it:
    whoever waits for this stream fails too instead of hanging.
    """

    def __init__(self, name: str):
        self.name = name
        self.round = 0
        self.error: BaseException | None = None
        self.queue: SimpleQueue[Any] = SimpleQueue()
        self.thread = threading.Thread(target=self._work, name=f"plait {name}", daemon=True)
        self.thread.start()

    def begin(self, round: int) -> None:
        self.queue.put(partial(setattr, self, "round", round))

    def run(self, job: Job) -> None:
        self.queue.put(job)

    def replay(self, graph: Any) -> None:
        self.queue.put(graph.replay)

    def record(self, event: Event) -> None:
        event.gate = gate = Gate()
        self.queue.put(gate)

    def wait(self, event: Event) -> None:
        if event.gate is not None:
            self.queue.put(event.gate.wait)

    def synchronize(self) -> None:
        gate = Gate()
        self.queue.put(gate)
        gate.wait()

    def close(self) -> None:
        self.queue.put(None)
        self.thread.join()

    def _work(self) -> None:
        torch.set_num_threads(1)
        torch.set_grad_enabled(False)
        take = self.queue.get
        while True:
            job = take()
            if type(job) is Gate:
                job.error = self.error
                job.lock.release()
            elif job is None:
                return
            elif self.error is None:
                try:
                    job()
                except BaseException as error:
                    self.error = explained(error, job, self.name, self.round)


class Host:
    """The host as a stream: what it is given, it does at once."""

    name = "host"

    def __init__(self) -> None:
        self.round = 0

    def begin(self, round: int) -> None:
        self.round = round

    def run(self, job: Job) -> None:
        try:
            job()
        except Exception as error:
            raise explained(error, job, self.name, self.round) from error

    def wait(self, event: Event) -> None:
        if event.gate is not None:
            event.gate.wait()


def explained(error: BaseException, job: Any, stream: str, round: int) -> BaseException:
    """The error with the phase, its line, the stream and the round said in front."""
    name = getattr(job, "name", None)
    if name is None or isinstance(error, PhaseError):
        return error
    where = f"{job.place}: `{name}` failed on {stream} in round {round}"
    found = PhaseError(f"{where}: {type(error).__name__}: {error}")
    found.__cause__ = error
    return found


class Cpu:
    name = "cpu"
    capture_kind = "replay of recorded kernels from Python"

    def __init__(self, stream: Callable[[str], Stream] = Stream, host: Callable[[], Host] = Host):
        self._stream = stream
        self._host = host
        self.streams: list[Stream] = []

    def host(self) -> Host:
        return self._host()

    def stream(self, name: str, kind: str) -> Stream:
        made = self._stream(name)
        self.streams.append(made)
        return made

    def events(self, name: str, count: int) -> list[Event]:
        return [Event(name) for _ in range(count)]

    def empty(self, dtype: str, shape: tuple[int, ...], memory: str) -> torch.Tensor:
        return torch.zeros(shape, dtype=DTYPES[dtype])

    def shadow(self, value: Any) -> Any:
        return map_tensors(torch.empty_like, value)

    def copies(self, name: str, place: str, pairs: Iterable[tuple[Any, Any]]) -> Job:
        into: list[torch.Tensor] = []
        out_of: list[torch.Tensor] = []
        for first, second in pairs:
            into += tensors_of(first)
            out_of += tensors_of(second)
        return job(name, place, torch._foreach_copy_, into, out_of)

    def call(self, name: str, place: str, body: Callable, arguments: dict[str, Any]) -> Job:
        return job(name, place, body, **arguments)

    def capture(self, name: str, place: str, calls: list[Job], written: list[Any]) -> Any:
        return capture(name, place, calls, [t for value in written for t in tensors_of(value)])

    def synchronize(self) -> None:
        for stream in self.streams:
            stream.synchronize()

    def close(self) -> None:
        for stream in self.streams:
            stream.close()
        self.streams.clear()


def map_tensors(function: Callable, value: Any) -> Any:
    """A tensor, or a dict, list or tuple of such values, with every tensor replaced."""
    if isinstance(value, torch.Tensor):
        return function(value)
    if isinstance(value, dict):
        return {key: map_tensors(function, one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(map_tensors(function, one) for one in value)
    kind = type(value).__name__
    raise TypeError(f"an opaque buffer is a tensor, or a dict, list or tuple of them, not {kind}")


def tensors_of(value: Any) -> list[torch.Tensor]:
    found: list[torch.Tensor] = []
    map_tensors(found.append, value)
    return found
