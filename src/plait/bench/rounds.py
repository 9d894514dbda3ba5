"""Rounds of a decoder that can be stepped for ever: each turn begins where the first did."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from torch import Tensor

from plait.bench.paired import timed
from plait.runtime.devices.base import Device
from plait.runtime.devices.job import Job
from plait.runtime.eagle.compare import AnyCheckpoint, requests_for
from plait.runtime.eagle.forms import speculative
from plait.runtime.eagle.request import Request
from plait.runtime.eagle.speculative import Speculative
from plait.runtime.schedule import Schedule
from plait.runtime.trace import Trace

ROUNDS = 10
"""Of a turn."""
TOKENS = 100
"""That a request may have, so that none ends in the rounds that are measured."""


def asked(checkpoint: AnyCheckpoint, count: int, tokens: int = TOKENS) -> list[Request]:
    """So many of the held-out prompts."""
    prompts = itertools.islice(itertools.cycle(checkpoint.prompts), count)
    return requests_for(checkpoint, list(prompts), tokens)


class Rounds:
    """After one whole round of so many requests."""

    def __init__(
        self,
        checkpoint: AnyCheckpoint,
        schedule: Schedule,
        bs: int,
        *,
        device: str | Device = "cpu",
        trace: Trace | None = None,
    ):
        self.bs = bs
        self.schedule = schedule
        requests = asked(checkpoint, bs)
        self.decoding: Speculative = speculative(
            schedule, checkpoint.model("f32"), requests, device=device, trace=trace
        )
        self.decoding.advance(1)
        self.runner = self.decoding.runner
        self._begun = self.carried()

    def carried(self) -> dict[str, Tensor]:
        """What a round hands on to the next, but for caches."""
        names = [one.name for one in self.schedule.buffers if one.carried and not one.opaque]
        return {name: self.runner.buffer(name).clone() for name in names}

    def back(self) -> None:
        """To where the first turn began, so that no turn attends to more than another."""
        for name, value in self._begun.items():
            self.runner.buffer(name).copy_(value)

    def step(self) -> None:
        for _ in range(ROUNDS):
            self.runner.step(**{self.decoding.dim: self.bs})
        self.runner.drain()

    def took(self) -> float:
        """Seconds of a round."""
        self.back()
        return timed(self.step) / ROUNDS

    def close(self) -> None:
        self.decoding.close()


@contextmanager
def rounds(*given: Any, **options: Any) -> Iterator[Rounds]:
    """As `Rounds`, closed in the end."""
    made = Rounds(*given, **options)
    try:
        yield made
    finally:
        made.close()


class Hand:
    """The loop that someone would write: the same jobs and graphs, one after the other, in the order of
    the text, on one thread. It needs no streams, events or program.
    """

    def __init__(self, made: Rounds):
        self.made = made
        self.calls = list(_calls(made))
        self.turn = 0

    def step(self) -> None:
        for _ in range(ROUNDS):
            for turns in self.calls:
                turns[self.turn % len(turns)]()
            self.turn += 1

    def took(self) -> float:
        """Seconds of a round."""
        self.made.back()
        return timed(self.step) / ROUNDS


def _calls(made: Rounds) -> Iterator[list[Callable[[], object]]]:
    """What each step of the loop calls, round by round, over the copies of buffers."""
    bucket = made.runner.bucket_for(**{made.decoding.dim: made.bs})
    program, *_ = made.runner._bound[bucket]
    held = [cell.cell_contents for cell in program.__closure__]
    named = {one[0].name: one for one in held if isinstance(one, list) and _is_work(one[0])}
    schedule = made.schedule
    graphs = {schedule.phases[n].name: one.name for one in schedule.captures for n in one.phases}
    for name in dict.fromkeys(graphs.get(phase.name, phase.name) for phase in schedule.phases):
        for work in (f"copies for {name}", f"load {name}", name):
            if work in named:
                yield [getattr(one, "replay", one) for one in named[work]]


def _is_work(one: object) -> bool:
    return isinstance(one, Job) or hasattr(one, "replay")
