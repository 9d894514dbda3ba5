"""The CPU as a device: a stream is a thread that takes jobs in order, an event is a lock.

Depends on torch and the standard library alone: a schedule emitted as Python carries this file.

Each thread sets its own thread count to one and its own gradient mode to off: both are settings of
the thread in torch, and a thread that leaves them alone runs small kernels many times slower. The
hand-over is a raw lock and a SimpleQueue, the cheapest pair the standard library has.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable
from functools import partial
from queue import SimpleQueue
from time import perf_counter
from typing import Any

import torch

from plait.runtime.devices.graph import PythonReplayer, Replayer, capture

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


WORTH_WAKING = 100e-6
"""Seconds: some wake-ups of a thread. Work that took less is over before another thread is awake."""


class Job(partial):
    """A call that knows its name in the spec, the line it stands on, and how long it took last."""

    name: str
    place: str
    took: float = WORTH_WAKING


def job(name: str, place: str, function: Callable, *arguments: Any, **named: Any) -> Job:
    made = Job(function, *arguments, **named)
    made.name, made.place = name, place
    return made


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
        """Holds up this thread until it opens. Raises what had gone wrong by then."""
        lock = threading.Lock()
        lock.acquire()
        if not self.add(lock):  # if it opened in between, there is nobody left to release the lock
            lock.acquire()
        if self.error is not None:
            raise self.error


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


class Stream:
    """A first-in-first-out queue of jobs and the one thread that works for it.

    A hand-over between threads costs tens of microseconds where the other core sleeps, more than a
    small phase. So whoever comes to a shut gate, before sleeping, does what is still missing for that
    gate itself, in the other stream's name and order; `turn` sees to it that only one thread does a
    stream's jobs at a time. And a stream that could go on is woken when whoever opened its gate turns
    to work that takes longer than waking it.

    After a failure a stream does nothing more, but still opens its gates, with the failure in them:
    whoever waits for it fails too instead of hanging.
    """

    def __init__(self, name: str, pace: Pace | None = None):
        self.name = name
        self.pace = pace or Pace()
        self.round = 0
        """Of the job being done."""
        self.error: BaseException | None = None
        self.jobs: deque[tuple[int, Any]] = deque()
        """Calls, records (a Gate) and waits, each with the round it belongs to."""
        self._giving = 0
        self.turn = threading.Lock()
        self.asleep = False
        """Whether the thread sleeps because there is nothing to do."""
        self.bell: SimpleQueue[bool] = SimpleQueue()
        """Rung to wake the thread; a ring too many does no harm, False ends it."""
        self.thread = threading.Thread(target=self._work, name=f"plait {name}", daemon=True)
        self.thread.start()

    def begin(self, round: int) -> None:
        self._giving = round

    def give(self, job: Any) -> None:
        self.jobs.append((self._giving, job))
        if self.asleep:
            self.asleep = False
            if not self.pace.soon:
                self.bell.put(True)

    run = give

    def replay(self, graph: Any) -> None:
        self.give(graph.job)

    def record(self, event: Event) -> None:
        event.gate = gate = Gate(self)
        self.give(gate)

    def wait(self, event: Event) -> None:
        gate = event.gate
        if gate is not None and (not gate.opened or gate.error is not None):
            self.give_wait(Wait(gate))

    def give_wait(self, wait: Wait) -> None:
        """As `give`; a thread that sleeps is not woken to find a shut gate, but by its opening."""
        self.jobs.append((self._giving, wait))
        if self.asleep:
            self.asleep = False
            if wait.gate.add(self):
                self.bell.put(True)

    @property
    def idle(self) -> bool:
        """Whether all that was given is done. Only true to who gives the jobs."""
        return not self.jobs and not self.turn.locked()  # a job leaves the queue under the turn

    def gate(self) -> Gate | None:
        """A gate behind all that was given; None when that is done. Raises what had gone wrong."""
        if not self.idle:
            gate = Gate(self)
            self.give(gate)
            return gate
        if self.error is not None:
            raise self.error
        return None

    def synchronize(self) -> None:
        if (gate := self.gate()) is not None:
            self.wake()
            gate.block()

    def wake(self) -> None:
        """Sees to it that what could be done is being done."""
        if self.jobs and not self.turn.locked() and self._shut_gate() is None:
            self.bell.put(True)

    def _shut_gate(self) -> Gate | None:
        """The gate that the next job waits at, if it is shut."""
        try:
            _, first = self.jobs[0]
        except IndexError:
            return None
        return first.gate if isinstance(first, Wait) and not first.gate.opened else None

    def close(self) -> None:
        self.bell.put(False)
        self.thread.join()

    def _work(self) -> None:
        torch.set_num_threads(1)
        torch.set_grad_enabled(False)
        ring = True
        while ring:
            if self.turn.acquire(blocking=False):
                self.advance([])
                self.turn.release()
            if not self.left() or self.turn.locked():
                ring = self.bell.get()

    def left(self) -> bool:
        """Whether there are jobs that could be done now. Asked by whoever had the turn, after it.

        If not, the bell rings when there are: rung by who gives one to an empty queue, by who opens
        the gate it stands at, or by who has the turn by then.
        """
        self.asleep = True  # before the look at the jobs, as `give` looks at it after adding one
        if not self.jobs:
            return False
        self.asleep = False
        gate = self._shut_gate()
        if gate is None:
            return True
        return gate.add(self)

    def advance(self, ready: list[Stream], until: Gate | None = None) -> None:
        """Does jobs in order, until none is left, a gate is shut, or `until` is open.

        The caller has the turn. `ready` collects streams that could go on and are still to be woken.
        """
        jobs = self.jobs
        while jobs:
            self.round, job = jobs[0]
            kind = type(job)
            if kind is Job:
                jobs.popleft()
                if self.error is None:
                    self._do(job, ready)
            elif kind is Gate:
                jobs.popleft()
                job.error = self.error
                job.opened = True
                for one in job.waiting or ():
                    ready.append(one) if isinstance(one, Stream) else one.release()
                if job is until:
                    return
            else:
                if not job.gate.opened and not self._through(job, ready):
                    break
                jobs.popleft()
                job.passed()
                if self.error is None:
                    self.error = job.gate.error
        if until is None:
            _ring(ready)

    def _do(self, job: Any, ready: list[Stream]) -> None:
        if job.took >= WORTH_WAKING:
            _ring(ready)
            if self.pace.soon:  # the host woke nobody: what could run beside this is woken now
                self.pace.wake_all()
        start = perf_counter()
        try:
            job()
        except BaseException as error:
            self.error = explained(error, job, self.name, self.round)
        job.took = perf_counter() - start

    def _through(self, wait: Wait, ready: list[Stream]) -> bool:
        """Whether a shut gate could be got open by doing its stream's jobs; else it will ring."""
        wait.reached()
        gate = wait.gate
        other = gate.stream
        if other.turn.acquire(blocking=False):
            if other in ready:
                ready.remove(other)
            other.advance(ready, gate)
            other.turn.release()
            if other.left():
                ready.append(other)
            if gate.opened:
                return True
        return gate.add(self)


def _ring(ready: list[Stream]) -> None:
    for stream in ready:
        if not stream.turn.locked():  # else someone is at its jobs, and looks again before leaving
            stream.bell.put(True)
    ready.clear()


class Pace:
    """Whether the host will be back soon, judged by how long it was away before.

    A host that only issues one round after another comes back within a fraction of a millisecond to wait
    for the one before. Then it does the streams' jobs itself while it waits, and no thread is woken for
    them. A host with other things to do is away for longer, and the streams' threads go ahead without it.
    """

    SOON = 300e-6
    """Seconds."""

    def __init__(self) -> None:
        self.soon = False
        self.streams: list[Stream] = []
        self._left = 0.0

    def back(self) -> None:
        self.soon = perf_counter() - self._left < self.SOON

    def leave(self) -> None:
        self._left = perf_counter()

    def wake_all(self) -> None:
        for stream in self.streams:
            stream.wake()


class Host:
    """The host as a stream: what it is given, it does at once."""

    name = "host"

    def __init__(self, pace: Pace) -> None:
        self.round = 0
        self.pace = pace

    def begin(self, round: int) -> None:
        self.round = round

    def run(self, job: Job) -> None:
        if job.took >= WORTH_WAKING:
            self.pace.wake_all()
        start = perf_counter()
        try:
            job()
        except Exception as error:
            raise explained(error, job, self.name, self.round) from error
        job.took = perf_counter() - start

    def wait(self, event: Event) -> None:
        if event.gate is not None:
            self.pass_gate(event.gate)

    def pass_gate(self, gate: Gate) -> None:
        """Waits, doing meanwhile what is missing. Raises what had gone wrong by then."""
        self.pace.back()
        if not gate.opened:
            self._help(gate)
        if not gate.opened:
            self.pace.wake_all()
            gate.block()
        self.pace.leave()
        if gate.error is not None:
            if isinstance(gate.error.__cause__, KeyboardInterrupt):
                raise KeyboardInterrupt from None
            raise gate.error

    def leave(self) -> None:
        """The host has issued a round and may be gone for long."""
        if not self.pace.soon:
            self.pace.wake_all()

    def _help(self, gate: Gate) -> None:
        stream = gate.stream
        if not stream.turn.acquire(blocking=False):
            return
        threads, gradients = torch.get_num_threads(), torch.is_grad_enabled()
        try:
            if threads != 1:
                torch.set_num_threads(1)
            torch.set_grad_enabled(False)
            ready: list[Stream] = []
            stream.advance(ready, gate)
        finally:
            stream.turn.release()
            torch.set_grad_enabled(gradients)
            if threads != 1:
                torch.set_num_threads(threads)
        stream.left()
        if not (gate.opened and self.pace.soon):
            self.pace.wake_all()


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

    def host(self) -> Host:
        return self._host

    def stream(self, name: str, kind: str) -> Stream:
        made = self._stream(name, self._pace)
        self.streams.append(made)
        return made

    def events(self, name: str, count: int) -> list[Event]:
        return [Event(name) for _ in range(count)]

    def empty(self, dtype: str, shape: tuple[int, ...], memory: str) -> torch.Tensor:
        return torch.zeros(shape, dtype=DTYPES[dtype])

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

    def capture(self, name: str, place: str, calls: list[Job], written: list[Any]) -> Any:
        tensors = [tensor for value in written for tensor in tensors_of(value)]
        graph = capture(name, place, calls, tensors, self._replayer)
        graph.job = job(name, place, graph.replay)
        return graph

    def synchronize(self) -> None:
        for gate in [stream.gate() for stream in self.streams]:
            if gate is not None:
                self._host.pass_gate(gate)

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
        made = [map_tensors(function, one) for one in value]
        return type(value)(*made) if hasattr(value, "_fields") else type(value)(made)
    kind = type(value).__name__
    raise TypeError(f"an opaque buffer is a tensor, or a dict, list or tuple of them, not {kind}")


def tensors_of(value: Any) -> list[torch.Tensor]:
    found: list[torch.Tensor] = []
    map_tensors(found.append, value)
    return found
