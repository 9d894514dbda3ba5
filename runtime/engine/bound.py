"""A schedule bound to what a decoder has for it, as rounds step it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from plait.runtime.bind import bind
from plait.runtime.devices.base import Device
from plait.runtime.engine.decoder import Decoder, ForSchedules, Sized
from plait.runtime.engine.reported import LOGPROBS, TOPS
from plait.runtime.engine.taken import TOKENS, check_taken
from plait.runtime.runner import BindError, Runner
from plait.runtime.schedule import Schedule
from plait.runtime.trace import Trace

if TYPE_CHECKING:
    from plait.runtime.ranks.group import Ranks


@dataclass(frozen=True)
class Bound:
    decoder: Decoder
    runner: Runner
    trace: Trace | None = None

    @property
    def schedule(self) -> Schedule:
        return self.decoder.schedule

    @property
    def slots(self) -> int:
        """Rows of the widest bucket."""
        return self.runner.sizes[-1][self.decoder.dim]

    @property
    def settings(self) -> str:
        """What tells the schedule from others of its spec."""
        return ", ".join(f"{name}={value}" for name, value in self.schedule.settings)

    def route(self, bucket: int) -> str:
        """What leads to the program of a bucket, as `ready=True`; nothing where there is one route."""
        return ", ".join(f"{name}={value}" for name, value in self.schedule.buckets[bucket].route)

    def sizes(self, live: int) -> dict[str, Any]:
        """What a round of so many requests is stepped with: every guard is agreed to."""
        sizes = {self.decoder.dim: live} if self._sized is None else self._sized.sizes(live)
        return {**sizes, **self._guards}

    @cached_property
    def _guards(self) -> dict[str, bool]:
        route = self.schedule.buckets[-1].route
        return {name: True for name, value in route if value in (True, False)}

    @cached_property
    def _sized(self) -> Sized | None:
        # Asked once: whether somebody has the methods of a protocol is a slow question.
        return self.decoder if isinstance(self.decoder, Sized) else None

    def published(self) -> list[Any]:
        """Tokens, log probabilities and likeliest tokens of the newest round; None where there are none."""
        names = {buffer.name for buffer in self.schedule.buffers}
        return [
            self.runner.buffer(name) if name in names else None for name in (TOKENS, LOGPROBS, TOPS)
        ]


@dataclass(frozen=True)
class Binder:
    """How an engine binds: the same for each of its schedules."""

    commit: Callable[..., None]
    """The body of the phase that takes the tokens."""
    device: str | Callable[[], Device] = "cpu"
    strict: bool = False
    traced: bool = False
    ranks: Ranks | None = None

    def __call__(self, decoder: Decoder) -> Bound:
        """Raises what `bind` raises, and BindError for a schedule from which no tokens could be taken."""
        schedule = decoder.schedule
        check_taken(schedule)
        trace = Trace() if self.traced else None
        runner = bind(
            schedule,
            {**decoder.bodies(), "commit": self.commit},
            opaque=decoder.opaque(),
            device=self.device if isinstance(self.device, str) else self.device(),
            strict=self.strict,
            trace=trace,
            ranks=self.ranks,
        )
        try:
            self._check_traced(runner)
        except BaseException:
            runner.close()
            raise
        return Bound(decoder, runner, trace)

    def _check_traced(self, runner: Runner) -> None:
        """Raises BindError, RankError."""
        if runner.peers is None:
            return
        what = "whether they keep a trace"
        if all(runner.peers.settle(what, int(self.traced), int(not self.traced))):
            raise BindError(
                "some ranks keep a trace and others none, and what is measured for it they measure together: "
                "give `trace` to `Engine`, which has an observer then, and to `follow` alike"
            )

    def of(self, decoder: Decoder, schedule: Schedule) -> Bound:
        """Another schedule on the memory of a decoder. Raises as `__call__`."""
        if schedule == decoder.schedule:
            return self(decoder)
        if not isinstance(decoder, ForSchedules):
            raise BindError(
                f"{schedule.source.name}: this decoder has one schedule, {decoder.schedule.source.name}; "
                "it has no `for_schedule`, which would give it another"
            )
        return self(decoder.for_schedule(schedule))
