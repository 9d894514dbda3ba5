"""Rounds that end in the middle, and records that nobody takes: what becomes of the slot a graph waits at.

Run on the device itself, below a runner. Of every case, the calls that touch the slot, and the replays.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from plait.runtime.devices.job import Job, PhaseError, job

if TYPE_CHECKING:
    from conformance.session import Driver

SAID = {"execute": "replay", "update": "update", "value_wait": "wait"}


def slots(driver: Driver) -> dict[str, list[str]]:
    found = {}
    for name, case in _Cases().cases():
        driver.taken()
        case()
        found[name] = [said for line in driver.taken().splitlines() if (said := _said(line))]
    return found


def _said(line: str) -> str | None:
    op, *words = line.split()
    if op == "value_write":
        return "record" if words[-1] == "1" else None  # a wait sets it back
    return SAID.get(op)


def _fails() -> None:
    raise ValueError("planted")


class _Cases:
    """A graph that waits for the rebind of its task, on a device that has nothing else."""

    def __init__(self) -> None:
        from plait.runtime.devices.named import device

        self.device: Any = device("npu")
        self.host = self.device.host()
        self.main, self.side = (self.device.stream(name, "compute") for name in ("main", "side"))
        x = self.device.empty("i64", (4,), "device")
        self.work = self.job("work", lambda: x.copy_(x.clone()))
        self.bad = self.job("bad", _fails)
        (self.event,) = self.device.events("rebind", 1, True)
        self.round = -1
        self.graph = self.capture(0)

    def job(self, name: str, body: Callable[[], object]) -> Job:
        return job(name, "slots:1", body)

    def capture(self, rounds_back: int) -> Any:
        steps = [
            ("external", self.main, self.event, (rounds_back,)),
            ("task", self.main, self.work, (0,)),
        ]
        return self.device.capture("g", "slots:1", steps, [])

    def cases(self) -> Iterator[tuple[str, Callable[[], None]]]:
        yield "the record comes first", self.first
        yield "the record comes last", self.last
        yield "the rebind fails, and the replay waits", self.rebind_fails
        yield "the replay is never issued", self.not_replayed
        yield "a round without the graph, then the record first", self.left_then_first
        yield "a round without the graph, then the record last", self.left_then_last
        yield "of a round before the first", self.before_the_first

    def begin(self) -> None:
        self.round += 1
        for stream in (self.host, self.main, self.side):
            stream.begin(self.round)

    def rebind(self, by: Job | None = None) -> None:
        self.side.rebind(by or self.work, [(self.graph, 0)])
        self.side.record(self.event)

    def first(self) -> None:
        self.begin()
        self.rebind()
        self.main.replay(self.graph)
        self.host.leave()

    def last(self) -> None:
        self.begin()
        self.main.replay(self.graph)
        self.rebind()
        self.host.leave()

    def rebind_fails(self) -> None:
        self.begin()
        self.main.replay(self.graph)
        self.stops(lambda: self.rebind(self.bad))
        self.last()

    def not_replayed(self) -> None:
        self.begin()
        self.rebind()
        self.stops(lambda: self.main.run(self.bad))
        self.last()

    def stops(self, call: Callable[[], None]) -> None:
        try:
            call()
        except PhaseError:
            self.device.recover()
            return
        raise AssertionError("nothing failed")

    def left_then_first(self) -> None:
        self.left()
        self.first()

    def left_then_last(self) -> None:
        self.left()
        self.last()

    def left(self) -> None:
        self.begin()
        self.rebind()
        self.host.leave()

    def before_the_first(self) -> None:
        self.device.recover()
        self.begin()
        self.main.replay(self.capture(1))
        self.host.leave()
        self.device.close()
