"""Streams of an accelerator, and the host beside them.

What is issued is issued at once, by the thread that issues the round: a stream is made the current one
by a plain call, which costs a fraction of what a context manager around every phase would.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NoReturn

import torch

from plait.runtime.devices.accelerator.events import Event
from plait.runtime.devices.accelerator.graph import Graph
from plait.runtime.devices.accelerator.meanings import meant
from plait.runtime.devices.job import PhaseError, explained

if TYPE_CHECKING:
    from plait.runtime.devices.accelerator.accelerator import Accelerator


class Stream:
    def __init__(self, name: str, native: Any, device: Accelerator):
        self.name = name
        self.native = native
        self.device = device
        self.round = 0
        self._set_stream = device.calls.set_stream
        self._record = device.calls.record
        self._wait = device.calls.wait
        self._replay = device.calls.replay

    def begin(self, round: int) -> None:
        self.round = round

    def run(self, job: Any) -> None:
        try:
            self._set_stream(stream=self.native)
            job()
            job.ran = self.round
        except BaseException as error:
            fail(error, job, self)

    def rebind(self, job: Any, tasks: Iterable[tuple[Graph, int]]) -> None:
        self.run(job)
        update(self, tasks)

    def replay(self, graph: Graph) -> None:
        try:
            for event, back in graph.external:
                self.device.external.replayed(event, back, self.native, self.round)
            self._set_stream(stream=self.native)
            self._replay(graph.native)
            graph.ran = self.round
        except BaseException as error:
            fail(error, graph, self)
        graph.replays += 1

    def record(self, event: Event) -> None:
        try:
            self._record(event.native, stream=self.native)
            if event.inside is not None:
                self.device.external.record(event, self.native, self.round)
        except BaseException as error:
            fail(error, event, self)

    def wait(self, event: Event) -> None:
        try:
            self._wait(event.native, stream=self.native)
        except BaseException as error:
            fail(error, event, self)


class Host:
    """The host as a stream. Around a round it keeps what the caller's stream and gradient mode were."""

    name = "host"

    def __init__(self, device: Accelerator):
        self.device = device
        self.round = 0
        self._before: Any = None
        self._gradients = False

    @property
    def native(self) -> Any:
        """The stream that was current when the round began, of which the schedule knows nothing."""
        return self._before if self._before is not None else self.device.current_stream()

    def begin(self, round: int) -> None:
        self.round = round
        if self._before is not None:  # an interrupt struck in the round before
            self.device.stop()
        self._before = self.device.current_stream()
        self._gradients = torch.is_grad_enabled()
        self.device.see_what_came_before(self._before)
        torch.set_grad_enabled(False)

    def leave(self) -> None:
        """The caller goes on where it was."""
        if self._before is not None:
            self.device.set_stream(self._before)
            torch.set_grad_enabled(self._gradients)
            self._before = None

    def run(self, job: Any) -> None:
        try:
            if self._before is not None:
                self.device.set_stream(self._before)
            job()
            job.ran = self.round
        except BaseException as error:
            fail(error, job, self)

    def rebind(self, job: Any, tasks: Iterable[tuple[Graph, int]]) -> None:
        self.run(job)
        update(self, tasks)
        self.device.calls.finish(self.native)  # what the host is given is done when it goes on

    def record(self, event: Event) -> None:
        """Of what the host has done, for a graph that waits for it from inside."""
        try:
            self.device.calls.record(event.native, stream=self.native)
            if event.inside is not None:
                self.device.external.record(event, self.native, self.round)
        except BaseException as error:
            fail(error, event, self)

    def wait(self, event: Event) -> None:
        try:
            self.device.calls.wait_on_host(event.native)
        except BaseException as error:
            fail(error, event, self)


def update(stream: Stream | Host, tasks: Iterable[tuple[Graph, int]]) -> None:
    """Gives tasks of graphs the parameters that were just written, by issuing them once more."""
    calls = stream.device.calls
    if calls.update_begin is None or calls.update_end is None:
        return  # the graph reads the parameters where they lie
    for graph, buffer in tasks:
        for task in graph.tasks.get(buffer, ()):
            try:
                calls.update_begin(stream=stream.native, handle=task.handle)
                try:
                    task.job()
                finally:
                    calls.update_end(stream=stream.native)
            except BaseException as error:
                fail(error, task.job, stream)


def fail(error: BaseException, what: Any, stream: Stream | Host) -> NoReturn:
    """Raises the error with where it struck said in front, the device left so that it can go on."""
    stream.device.stop()
    if isinstance(error, PhaseError) or not isinstance(error, Exception):
        raise error
    said = meant(error, stream.device.kind.meanings)
    raise explained(said, what, stream.name, stream.round) from error
