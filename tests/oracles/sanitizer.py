"""What torch's own sanitizer of CUDA programs says of a trace: it takes streams and addresses as numbers.

What the host does is work on a stream of its own, which everything issued later waits for. What lasts
longer than one kernel (a replay, a read from its issue on) is a kernel where it begins and one where it
ends.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import SimpleNamespace
from typing import NamedTuple
from unittest import mock

from torch.cuda import _sanitizer

from oracles.trace import NONE, Cells, Close, Open, Queue, Record, Run, Step, Wait
from plait.runtime.schedule import HOST

ON_HOST: Queue = (None, HOST)


class Conflict(NamedTuple):
    earlier: str
    later: str


def verdict(steps: Sequence[Step]) -> list[Conflict]:
    """Pairs of kernels that it says have no order, as it comes to them."""
    with _without_stack_traces():
        found = _Judge()
        for step in steps:
            found.step(step)
        return found.conflicts


class _Judge:
    def __init__(self) -> None:
        self.handler = _sanitizer.EventHandler()
        self.conflicts: list[Conflict] = []
        self.streams: dict[Queue, int] = {}
        self.events: dict[object, int] = {}
        self.open: dict[int, list[tuple[str, Cells, Cells]]] = {}
        self.stream(ON_HOST)

    def stream(self, queue: Queue) -> int:
        if queue not in self.streams:
            self.streams[queue] = 1 + len(self.streams)
            self.handler._handle_stream_creation(self.streams[queue])
        return self.streams[queue]

    def event(self, name: object) -> int:
        return self.events.setdefault(name, 1 + len(self.events))

    def step(self, step: Step) -> None:
        match step:
            case Run():
                if step.from_issue:
                    self.kernel(ON_HOST, step.name, step.from_issue, step.changed_from_issue)
                self.kernel(step.queue, step.name, step.reads, step.writes)
                if step.to_close and step.replay is not None:
                    self.open[step.replay].append((step.name, step.to_close, NONE))
            case Open():
                self.kernel(step.queue, step.name, step.reads, step.writes)
                self.open[step.replay] = [(step.name, step.reads, step.writes)]
            case Close():
                for name, reads, writes in self.open.pop(step.replay):
                    self.kernel(step.queue, name, reads, writes)
            case Record():
                self.after_host(step.queue)
                self.handler._handle_event_record(self.event(step.event), self.stream(step.queue))
            case Wait(queue, event):
                if queue == ON_HOST:
                    self.handler._handle_event_synchronization(self.event(event))
                else:
                    self.handler._handle_event_wait(self.event(event), self.stream(queue))

    def kernel(self, queue: Queue, name: str, reads: Cells, writes: Cells) -> None:
        self.after_host(queue)
        found = self.handler._handle_kernel_launch(
            self.stream(queue),
            set(reads - writes),
            set(writes),
            set(),
            name,
            defaultdict(list),
        )
        for one in found:
            assert isinstance(one, _sanitizer.UnsynchronizedAccessError)
            earlier, later = one.previous_access.operator, one.current_access.operator
            self.conflicts.append(Conflict(earlier, later))

    def after_host(self, queue: Queue) -> None:
        """What the host has done is over before whatever it issues next."""
        if queue != ON_HOST:
            event = self.event("issued")
            self.handler._handle_event_record(event, self.stream(ON_HOST))
            self.handler._handle_event_wait(event, self.stream(queue))


@contextmanager
def _without_stack_traces() -> Iterator[None]:
    """Kernels here have no place in a program, and looking for one is most of the time it takes."""
    none = SimpleNamespace(extract=lambda *_, **__: [])
    quick = SimpleNamespace(StackSummary=none, walk_stack=lambda *_: ())
    with mock.patch.object(_sanitizer, "traceback", quick):
        yield
