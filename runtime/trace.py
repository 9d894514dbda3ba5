"""What really ran, as integer nanoseconds: one lane a stream, in Perfetto's trace-event JSON."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from plait.runtime.devices.events import Event, Gate, Wait
from plait.runtime.devices.host import Host
from plait.runtime.devices.job import Job, job
from plait.runtime.devices.pace import Pace
from plait.runtime.devices.streams import Stream
from plait.runtime.schedule import Schedule
from plait.runtime.schedule_json import to_json

Kind = Literal["phase", "load", "capture", "wait"]


class Slice(NamedTuple):
    """Something that took time on a stream. Nanoseconds of `time.perf_counter_ns`."""

    stream: str
    kind: Kind
    name: str
    place: str
    round: int
    start: int
    end: int
    record: int = 0
    """Of a wait: the number of the record it waited for."""
    capture: str = ""
    """Of a phase that a graph holds."""


class Record(NamedTuple):
    """The moment an event's record was reached."""

    stream: str
    name: str
    number: int
    at: int


@dataclass
class Begun:
    """A round that the host began to issue."""

    number: int
    bucket: int
    live: dict[str, int]
    at: int
    issued: int = 0
    """When all of it was; 0: never."""


class Beside(NamedTuple):
    """How long a phase that a graph holds takes by itself, and right before in the graph."""

    bucket: int
    phase: str
    took: int
    held: int


BESIDE = 9
"""How often each is measured."""


class Trace:
    """Collects slices and records. Streams append to lists of their own, so nothing is locked.

    With `turns`, rounds take turns of so many: one turn is noted, of the next no more than when each
    round was issued, so that a trace says itself what it cost.
    """

    def __init__(self, turns: int = 0) -> None:
        self.turns = turns
        self.lanes: dict[str, list[Slice]] = {}
        self.records: dict[str, list[Record]] = {}
        self.begun: list[Begun] = []
        self.beside: list[Beside] = []
        self.committed: dict[int, int] = {}
        """By round how many tokens it gave, over all requests; of rounds of which somebody said it."""
        self.binding = 0
        """The bucket that captures are made for."""
        self._numbers = 0

    def notes(self, round: int) -> bool:
        return not self.turns or round // self.turns % 2 == 0

    def begin(self, round: int, bucket: int, live: dict[str, int]) -> None:
        self.begun.append(Begun(round, bucket, live, time.perf_counter_ns()))

    def watch(self, stream: Any) -> Any:
        """What keeps the time of a graph that is captured on a stream."""
        return stream if isinstance(stream, _TracedStream) else None

    def stream(self, name: str, pace: Pace) -> Stream:
        return _TracedStream(name, pace, self)

    def host(self, pace: Pace) -> Host:
        return _TracedHost(pace, self)

    def lane(self, name: str) -> tuple[list[Slice], list[Record]]:
        return self.lanes.setdefault(name, []), self.records.setdefault(name, [])

    def number(self) -> int:
        self._numbers += 1
        return self._numbers

    def to_json(self, title: str, schedule: Schedule | None = None) -> str:
        """The trace-event form: microseconds from the first slice, streams as threads of one process.

        With the schedule that ran, what the trace is of stands beside the events, under `plait`.
        """
        slices = sorted(
            (s for lane in self.lanes.values() for s in lane), key=lambda s: (s.start, -s.end)
        )
        zero = slices[0].start if slices else 0
        threads = {name: number for number, name in enumerate(self.lanes, 1)}
        events: list[dict[str, Any]] = [_meta("process_name", 0, title)]
        for name, thread in threads.items():
            events += [_meta("thread_name", thread, name), _order(thread)]
        events += _rounds(slices, zero)
        for one in slices:
            args: dict[str, Any] = {"round": one.round, "spec": one.place}
            if one.capture:
                args["capture"] = one.capture
            events.append(
                {
                    "name": one.name if one.kind != "wait" else f"wait for {one.name}",
                    "cat": one.kind,
                    "ph": "X",
                    "pid": 1,
                    "tid": threads[one.stream],
                    "ts": (one.start - zero) / 1000,
                    "dur": (one.end - one.start) / 1000,
                    "args": args,
                }
            )
        reached = {r.number: r for lane in self.records.values() for r in lane}
        for one in slices:
            if one.record in reached:
                events += _arrow(reached[one.record], one, threads, zero)
        found: dict[str, Any] = {"traceEvents": events, "displayTimeUnit": "ns"}
        if schedule is not None:
            found["plait"] = self._about(schedule, zero)
        return json.dumps(found, separators=(",", ":"))

    def _about(self, schedule: Schedule, zero: int) -> dict[str, Any]:
        """Of what the trace is: the schedule, and every round. Times as in the events."""
        return {
            "schedule": json.loads(to_json(schedule)),
            "rounds": [
                {
                    "number": one.number,
                    "bucket": schedule.buckets[one.bucket].name,
                    "live": one.live,
                    "at": (one.at - zero) / 1000,
                    "issued": (one.issued - zero) / 1000,
                    "noted": self.notes(one.number),
                    "accepted": self.committed.get(one.number),
                }
                for one in self.begun
                if one.issued
            ],
            "beside": [
                {
                    "bucket": schedule.buckets[one.bucket].name,
                    "phase": one.phase,
                    "took": one.took / 1000,
                    "held": one.held / 1000,
                }
                for one in self.beside
            ],
        }


ROUNDS = 0
"""The thread of the lane that shows rounds."""


def _meta(what: str, thread: int, name: str) -> dict[str, Any]:
    return {"name": what, "ph": "M", "pid": 1, "tid": thread, "args": {"name": name}}


def _order(thread: int) -> dict[str, Any]:
    args = {"sort_index": thread}
    return {"name": "thread_sort_index", "ph": "M", "pid": 1, "tid": thread, "args": args}


def _rounds(slices: list[Slice], zero: int) -> list[dict[str, Any]]:
    """Each round from its first to its last slice. Rounds overlap, so they are async slices."""
    spans: dict[int, tuple[int, int]] = {}
    for one in slices:
        start, end = spans.get(one.round, (one.start, one.end))
        spans[one.round] = min(start, one.start), max(end, one.end)
    events: list[dict[str, Any]] = []
    for number, (start, end) in sorted(spans.items()):
        for phase, at in (("b", start), ("e", end)):
            events.append(
                {
                    "name": f"round {number}",
                    "cat": "round",
                    "ph": phase,
                    "id": number,
                    "pid": 1,
                    "tid": ROUNDS,
                    "ts": (at - zero) / 1000,
                }
            )
    return events


def _arrow(record: Record, wait: Slice, threads: dict[str, int], zero: int) -> list[dict[str, Any]]:
    """From the record to the end of the wait for it. Of an id that is no number, Perfetto draws none."""
    ends = ((record.stream, record.at, "s"), (wait.stream, wait.end, "f"))
    return [
        {
            "name": record.name,
            "cat": "sync",
            "ph": phase,
            "id": record.number * (len(threads) + 1) + threads[wait.stream],
            "pid": 1,
            "tid": threads[stream],
            "ts": (at - zero) / 1000,
            **({"bp": "e"} if phase == "f" else {}),
        }
        for stream, at, phase in ends
    ]


class _Timed:
    """What a traced stream and the traced host share: a clock around every job."""

    name: str
    round: int

    def __init__(self, trace: Trace):
        self.trace = trace
        self.slices, self.records = trace.lane(self.name)
        self.inside: list[Slice] = []
        """Of the job being done, if it is a graph."""

    def timed(self, kind: Kind, done: Job) -> Job:
        def run() -> None:
            self.inside.clear()
            start = time.perf_counter_ns()
            try:
                done()
                done.ran = self.round
            finally:
                end = time.perf_counter_ns()
                done.took = (end - start) / 1e9
                self.slices += self.inside
                self.slices.append(
                    Slice(self.name, kind, done.name, done.place, self.round, start, end)
                )

        made = job(done.name, done.place, run)
        made.took = done.took
        return made

    def waited(self, event: Event, gate: Gate, start: int) -> None:
        end = time.perf_counter_ns()
        slice = Slice(self.name, "wait", event.name, "", self.round, start, end, gate.number)
        self.slices.append(slice)


class _TracedWait(Wait):
    """A wait that takes time: from when the stream reached the shut gate, or passed an open one."""

    __slots__ = ("event", "since", "stream")

    def __init__(self, gate: Gate, event: Event, stream: _TracedStream):
        super().__init__(gate)
        self.event = event
        self.stream = stream
        self.since = 0

    def reached(self) -> None:
        self.since = self.since or time.perf_counter_ns()

    def passed(self) -> None:
        self.stream.waited(self.event, self.gate, self.since or time.perf_counter_ns())


class _TracedStream(_Timed, Stream):
    def __init__(self, name: str, pace: Pace, trace: Trace):
        self.name = name
        _Timed.__init__(self, trace)
        Stream.__init__(self, name, pace)

    @property
    def noting(self) -> bool:
        """Whether the round that it is given is noted."""
        return self.trace.notes(self.giving)

    def run(self, job: Any) -> None:
        kind: Kind = "load" if job.name.startswith("load ") else "phase"
        self.give(self.timed(kind, job) if self.noting else job)

    def launch(self, job: Any) -> None:
        self.give(self.timed("capture", job) if self.noting else job)

    def record(self, event: Event) -> None:
        if not self.noting:
            Stream.record(self, event)
            return
        event.gate = gate = Gate(self, self.trace.number())
        self.give(job(event.name, "", self._reached, event, gate))
        self.give(gate)

    def joined(
        self, name: str, calls: list[Any], launches: list[Callable[[], object]]
    ) -> Callable[[], None]:
        """Launches what each call has in a graph, in rounds that are noted with a clock around it."""
        parts = list(zip(calls, launches, strict=True))

        def run() -> None:
            if not self.trace.notes(self.round):
                for launch in launches:
                    launch()
                return
            for call, launch in parts:
                start = time.perf_counter_ns()
                launch()
                took = start, time.perf_counter_ns()
                what = call.name, call.place, self.round
                self.inside.append(Slice(self.name, "phase", *what, *took, capture=name))

        return run

    def beside(self, calls: list[Any], launches: list[Callable[[], object]]) -> None:
        """Runs each both ways some times, with a clock around it."""
        for _ in range(BESIDE):
            for call, launch in zip(calls, launches, strict=True):
                start = time.perf_counter_ns()
                launch()
                between = time.perf_counter_ns()
                call()
                took = time.perf_counter_ns() - between, between - start
                self.trace.beside.append(Beside(self.trace.binding, call.name, *took))

    def _reached(self, event: Event, gate: Gate) -> None:
        self.records.append(Record(self.name, event.name, gate.number, time.perf_counter_ns()))

    def wait(self, event: Event) -> None:
        if not self.noting:
            Stream.wait(self, event)
        elif event.gate is not None:
            self.give_wait(_TracedWait(event.gate, event, self))


class _TracedHost(_Timed, Host):
    def __init__(self, pace: Pace, trace: Trace):
        Host.__init__(self, pace)
        _Timed.__init__(self, trace)

    def run(self, job: Job) -> None:
        noted = self.trace.notes(self.round)
        Host.run(self, self.timed("phase", job) if noted else job)

    def leave(self) -> None:
        self.trace.begun[-1].issued = time.perf_counter_ns()
        Host.leave(self)

    def wait(self, event: Event) -> None:
        start = time.perf_counter_ns()
        Host.wait(self, event)
        if event.gate is not None and self.trace.notes(self.round):
            self.waited(event, event.gate, start)
