"""Who goes on: the ways to choose that a seed leads to.

Even seeds pick something in turn and treat it as badly as may be: a phase that begins as late as it can,
a phase that has read its inputs early and ends as late as it can, a stream that is rushed ahead of all
others. So of two phases without an order either one comes first for some seed. Odd seeds draw lots, or
give streams ranks that change now and then.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from plait.runtime.devices.adversary.calls import Call
    from plait.runtime.devices.adversary.queues import Queue
    from plait.runtime.schedule import Schedule


class Choice(Protocol):
    def before_host(self, ready: Sequence[Queue]) -> Queue | None:
        """The stream that goes on before the host does; None: the host."""
        ...

    def among(self, ready: Sequence[Queue]) -> Queue:
        """The stream that goes on while the host waits."""
        ...

    def early(self, call: Call) -> bool:
        """Whether a call reads memory of the host as soon as it is issued."""
        ...


class InOrder:
    """Everything as soon as it is issued: the order of the text."""

    def before_host(self, ready: Sequence[Queue]) -> Queue | None:
        return ready[-1] if ready else None

    def among(self, ready: Sequence[Queue]) -> Queue:
        return ready[-1]

    def early(self, call: Call) -> bool:
        return False


class Lots:
    """One of those that can go on, the host among them."""

    def __init__(self, random: Random):
        self.random = random
        self.host = random.choice((0.05, 0.3, 0.7))
        """How likely the host goes on first."""

    def before_host(self, ready: Sequence[Queue]) -> Queue | None:
        return self.among(ready) if ready and self.random.random() > self.host else None

    def among(self, ready: Sequence[Queue]) -> Queue:
        return self.random.choice(ready)

    def early(self, call: Call) -> bool:
        return self.random.random() < 0.5


class Ranks(Lots):
    """The one of highest rank; now and then it gets another."""

    CHANGES = 0.05

    def __init__(self, random: Random):
        super().__init__(random)
        self.ranks: dict[str, float] = {}

    def rank(self, name: str) -> float:
        if name not in self.ranks or self.random.random() < self.CHANGES:
            self.ranks[name] = self.random.random()
        return self.ranks[name]

    def before_host(self, ready: Sequence[Queue]) -> Queue | None:
        if not ready:
            return None
        best = self.among(ready)
        return best if self.ranks[best.name] > self.rank("host") else None

    def among(self, ready: Sequence[Queue]) -> Queue:
        return max(ready, key=lambda queue: self.rank(queue.name))


class Late(Lots):
    """One phase begins only when nothing else can go on."""

    def __init__(self, random: Random, phase: str):
        super().__init__(random)
        self.phase = phase

    def delayed(self, queue: Queue) -> bool:
        """Whether what a stream would go on with is what has to wait."""
        return queue.next is not queue.flying and queue.next.name == self.phase  # type: ignore[union-attr]

    def before_host(self, ready: Sequence[Queue]) -> Queue | None:
        return super().before_host([queue for queue in ready if not self.delayed(queue)])

    def among(self, ready: Sequence[Queue]) -> Queue:
        return self.random.choice([one for one in ready if not self.delayed(one)] or ready)


class Long(Late):
    """One phase begins as soon as it can, and ends only when nothing else can go on."""

    def delayed(self, queue: Queue) -> bool:
        return queue.next is queue.flying and queue.next.name == self.phase  # type: ignore[union-attr]

    def before_host(self, ready: Sequence[Queue]) -> Queue | None:
        return self.beginning(ready) or super().before_host(ready)

    def among(self, ready: Sequence[Queue]) -> Queue:
        return self.beginning(ready) or super().among(ready)

    def beginning(self, ready: Sequence[Queue]) -> Queue | None:
        named = [one for one in ready if one.next is not None and one.next.name == self.phase]
        return next((one for one in named if one.flying is None), None)

    def early(self, call: Call) -> bool:
        return call.name == self.phase or super().early(call)


class Rushed:
    """One stream, and what it waits for, ahead of all others; those only while the host waits."""

    def __init__(self, random: Random, stream: str):
        self.random = random
        self.stream = stream

    def before_host(self, ready: Sequence[Queue]) -> Queue | None:
        for queue in ready[0].machine.queues if ready else ():
            if queue.name.partition(" in ")[0] == self.stream and not queue.idle:
                helper: Queue | None = queue
                for _ in ready[0].machine.queues:
                    if helper is None or helper in ready:
                        break
                    helper = helper.held_by
                if helper in ready:
                    return helper
        return None

    def among(self, ready: Sequence[Queue]) -> Queue:
        return self.before_host(ready) or self.random.choice(ready)

    def early(self, call: Call) -> bool:
        return self.random.random() < 0.5


class Lazy(Lots):
    """Nothing before the host waits for something."""

    def before_host(self, ready: Sequence[Queue]) -> Queue | None:
        return None


def choice(seed: int, random: Random, schedule: Schedule | None) -> Choice:
    """That of a seed, for what a schedule has."""
    if seed % 2 == 0 and schedule is not None:
        ways = _ways(schedule)
        what, name = ways[seed // 2 % len(ways)]
        return {"late": Late, "long": Long, "rushed": Rushed}[what](random, name)
    kind = (Ranks, Lots, Ranks, Lazy)[seed // 2 % 4]
    return kind(random)


def _ways(schedule: Schedule) -> list[tuple[str, str]]:
    """What may be treated badly, and how."""
    phases = list(dict.fromkeys(p.name for p in schedule.phases if p.stream))
    loads = [f"load {capture.name}" for capture in schedule.captures if capture.copied_in]
    graphs = [capture.name for capture in schedule.captures]
    streams = [stream.name for stream in schedule.streams[1:]]
    called = dict.fromkeys(phases + loads + graphs)
    ways = [(what, name) for name in called for what in ("late", "long")]
    Random(schedule.source.sha256).shuffle(ways)
    return [*(("rushed", name) for name in streams), *ways]
