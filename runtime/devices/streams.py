"""Streams of the CPU: each a thread that takes jobs in order; an event is a lock.

Each thread sets its own thread count to one and its own gradient mode to off: both are settings of
the thread in torch, and a thread that leaves them alone runs small kernels many times slower. The
hand-over is a raw lock and a SimpleQueue, the cheapest pair the standard library has.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterable
from queue import SimpleQueue
from time import perf_counter
from typing import Any

import torch

from plait.runtime.devices.events import Event, Gate, Wait
from plait.runtime.devices.job import WORTH_WAKING, Job, explained
from plait.runtime.devices.pace import Pace


class Stream:
    """A first-in-first-out queue of jobs and the one thread that works for it.

    A hand-over between threads costs tens of microseconds where the other core sleeps, more than a
    small phase. So whoever comes to a shut gate, before sleeping, does what is still missing for that
    gate itself, in the other stream's name and order; `turn` sees to it that only one thread does a
    stream's jobs at a time. And a stream that could go on is woken when whoever opened its gate turns
    to work that takes longer than waking it.

    After a failure a stream does nothing that it is given, but still opens its gates, with the failure in
    them: whoever waits for it fails too instead of hanging, until `Cpu.recover`. If an interrupt strikes a
    host that helps, the turn may stay taken: that stream then stops for good, and so does the runner,
    which waits for it no more.
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

    def rebind(self, job: Job, tasks: Iterable[tuple[Any, int]]) -> None:
        self.give(job)  # a graph reads the parameters where they lie

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
            if gate.error is not None:
                raise gate.error

    def wake(self) -> bool:
        """Sees to it that what could be done is being done; whether the thread had to be woken."""
        idle = bool(self.jobs) and not self.turn.locked() and self._shut_gate() is None
        if idle:
            self.bell.put(True)
        return idle

    def end(self) -> None:
        """No job is begun any more, and the thread ends."""
        self.error = self.error or RuntimeError(f"the stream {self.name} is closed")
        self.bell.put(False)

    def _shut_gate(self) -> Gate | None:
        """The gate that the next job waits at, if it is shut."""
        try:
            _, first = self.jobs[0]
        except IndexError:
            return None
        return first.gate if isinstance(first, Wait) and not first.gate.opened else None

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
            job.ran = self.round
        except BaseException as error:
            self.error = self.pace.failure = explained(error, job, self.name, self.round)
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
