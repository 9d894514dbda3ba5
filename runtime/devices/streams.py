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
from plait.runtime.devices.one_thread import one_thread
from plait.runtime.devices.pace import Pace


class Stream:
    """A first-in-first-out queue of jobs and the one thread that works for it.

    A hand-over between threads costs tens of microseconds where the other core sleeps, more than a
    small phase. So whoever comes to a shut gate, before sleeping, does what is still missing for that
    gate itself, in the other stream's name and order; `turn` sees to it that only one thread does a
    stream's jobs at a time. And a stream that could go on is woken when whoever opened its gate turns
    to work that takes longer than waking it.

    A graph may wait from inside for what is issued further down in the round; what it then waits at stands
    for a record that is still to come.

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
        """Calls, gates of its own to open, and gates of others to wait at, or a Wait that is told of it; each
        with the round it belongs to."""
        self.giving = 0
        """The round that what is given belongs to."""
        self.turn = threading.Lock()
        self.asleep = False
        """Whether the thread sleeps because there is nothing to do."""
        self.bell: SimpleQueue[bool] = SimpleQueue()
        """Rung to wake the thread; a ring too many does no harm, False ends it."""
        self.thread = threading.Thread(target=self._work, name=f"plait {name}", daemon=True)
        begun = threading.Event()
        self._begun = begun.set
        self.thread.start()
        begun.wait()  # else threads that begin meanwhile may have one thread too

    def begin(self, round: int) -> None:
        self.giving = round

    def give(self, job: Any) -> None:
        self.jobs.append((self.giving, job))
        if self.asleep:
            self._stir()

    run = give

    def rebind(self, job: Job, tasks: Iterable[tuple[Any, int]]) -> None:
        self.run(job)  # a graph reads the parameters where they lie

    def replay(self, graph: Any) -> None:
        self.launch(graph.job)
        for event, rounds_back, job in graph.rest:
            gate = event.gate if rounds_back else event.of_round(self)
            if gate is not None and (not gate.opened or gate.error is not None):
                self.give_wait(Wait(gate))
            self.launch(job)

    launch = give

    def record(self, event: Event) -> None:
        event.gate = gate = Gate(self)
        self.jobs.append((self.giving, gate))
        if self.asleep:
            self._stir()

    def wait(self, event: Event) -> None:
        gate = event.gate
        if gate is None or gate.stream is self:
            return
        if not gate.opened or gate.error is not None:
            self.jobs.append((self.giving, gate))
            if self.asleep:
                self._stir_at(gate)

    def _stir(self) -> None:
        """Wakes a thread that sleeps, unless the host will be back soon."""
        self.asleep = False
        if not self.pace.soon:
            self.bell.put(True)

    def give_wait(self, wait: Wait) -> None:
        self.jobs.append((self.giving, wait))
        if self.asleep:
            self._stir_at(wait.gate)

    def _stir_at(self, gate: Gate) -> None:
        """A thread that sleeps is not woken to find a shut gate, but by its opening."""
        self.asleep = False
        if gate.add(self):
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
        if isinstance(first, Gate):
            gate = None if first.stream is self else first
        else:
            gate = first.gate if isinstance(first, Wait) else None
        return None if gate is None or gate.opened else gate

    def _work(self) -> None:
        try:
            one_thread()
        finally:
            self._begun()
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
        now = perf_counter()
        while jobs:
            self.round, job = jobs[0]
            kind = type(job)
            if kind is Job:
                jobs.popleft()
                if self.error is None:
                    if job.took >= WORTH_WAKING:
                        self._wake(ready)
                        now = perf_counter()
                    try:
                        job()
                        job.ran = self.round
                    except BaseException as error:
                        self.error = self.pace.failure = explained(
                            error, job, self.name, self.round
                        )
                    job.took = -(now - (now := perf_counter()))
            elif kind is Gate and job.stream is self:
                jobs.popleft()
                job.error = self.error
                job.opened = True
                for one in job.waiting or ():
                    ready.append(one) if isinstance(one, Stream) else one.release()
                if job is until:
                    return
            else:
                gate = job if kind is Gate else job.gate
                if not gate.opened:
                    if gate is not job:
                        job.reached()
                    if not self._through(gate, ready):
                        break
                jobs.popleft()
                if gate is not job:
                    job.passed()
                if self.error is None:
                    self.error = gate.error
                now = perf_counter()
        if until is None:
            _ring(ready)

    def _wake(self, ready: list[Stream]) -> None:
        """Before a job that takes long."""
        _ring(ready)
        if self.pace.soon:  # the host woke nobody: what could run beside this is woken now
            self.pace.wake_all()

    def _through(self, gate: Gate, ready: list[Stream]) -> bool:
        """Whether a shut gate could be got open by doing its stream's jobs; else it will ring."""
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
