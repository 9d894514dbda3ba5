"""The host beside the CPU's streams: it does host phases itself and waits at gates."""

from __future__ import annotations

from collections.abc import Iterable
from time import perf_counter
from typing import Any, NoReturn

import torch

from plait.runtime.devices.events import Event, Gate
from plait.runtime.devices.job import WORTH_WAKING, Job, explained
from plait.runtime.devices.pace import Pace
from plait.runtime.devices.streams import Stream


class Host:
    """The host as a stream: what it is given, it does at once."""

    name = "host"

    def __init__(self, pace: Pace) -> None:
        self.round = 0
        self.pace = pace

    def begin(self, round: int) -> None:
        if self.pace.failure is not None:
            _raise(self.pace.failure)
        self.round = round

    def run(self, job: Job) -> None:
        if job.took >= WORTH_WAKING:
            self.pace.wake_all()
        start = perf_counter()
        try:
            job()
            job.ran = self.round
        except Exception as error:
            raise explained(error, job, self.name, self.round) from error
        job.took = perf_counter() - start

    def rebind(self, job: Job, tasks: Iterable[tuple[Any, int]]) -> None:
        self.run(job)

    def wait(self, event: Event) -> None:
        if event.gate is not None:
            self.pass_gate(event.gate)

    def pass_gate(self, gate: Gate) -> None:
        """As `reach`. Raises what had gone wrong by then."""
        self.reach(gate)
        if gate.error is not None:
            _raise(gate.error)

    def reach(self, gate: Gate) -> None:
        """Waits, doing meanwhile what is missing."""
        self.pace.back()
        if not gate.opened:
            self._help(gate)
        if not gate.opened:
            self.pace.wake_all()
            gate.block()
        self.pace.leave()

    def leave(self) -> None:
        """The host has issued a round and may be gone for long."""
        self.pace.issued()

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
            try:
                _put_back(threads, gradients)
            except BaseException:  # an interrupt, here of all places
                _put_back(threads, gradients)
                raise
        stream.turn.release()
        stream.left()
        if not (gate.opened and self.pace.soon):
            self.pace.wake_all()


def _raise(error: BaseException) -> NoReturn:
    if isinstance(error.__cause__, KeyboardInterrupt):
        raise KeyboardInterrupt from None
    raise error


def _put_back(threads: int, gradients: bool) -> None:
    torch.set_grad_enabled(gradients)
    if threads != 1:
        torch.set_num_threads(threads)
