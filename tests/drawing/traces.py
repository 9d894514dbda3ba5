"""Traces whose truth is known: rounds simulated, each phase as some kernels, as torch.profiler writes them.

A phase is one to five kernels with names of its own, a graph's replay one launch with all of its kernels, and
marks are ranges on the host, ranges on the stream, or none. Times are jittered; then kernels are dropped,
inserted and given other names.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from random import Random

from drawing.safe import safe_round
from plait.compiler.compile import Asked, compile_source
from plait.compiler.timing.costs import Cost, HostCosts, Law, Profile, StreamCosts
from plait.compiler.timing.simulate import simulate
from plait.dsl.span import Source
from plait.runtime.schedule import HOST, Schedule

MARKS = ("host", "stream", "none")
DROPPED, INSERTED, RENAMED = 0.05, 0.05, 0.10
NAMES = 997
"""Of kernels that are of nobody."""
MOST_KERNELS = 5
ROUNDS = 8


@dataclass
class Kernel:
    name: str
    stream: int
    start: int
    end: int
    correlation: int
    node: str | None
    """The phase or capture it is of, in truth; None: of none."""
    round: int
    phase: str = ""
    place: int = 0
    """Which of its phase's kernels it is."""
    lost: bool = False
    renamed: bool = False


@dataclass
class Launch:
    correlation: int
    start: int
    graph: bool


@dataclass
class Drawn:
    schedule: Schedule
    marks: str
    numbered: bool = True
    """Whether marks say the rounds."""
    kernels: list[Kernel] = field(default_factory=list)
    """All that ran, by start; those that are lost are not in the trace."""
    launches: list[Launch] = field(default_factory=list)
    ranges: list[tuple[str, int, int]] = field(default_factory=list)
    """Of the host."""
    hosts: dict[tuple[str, int], tuple[int, int]] = field(default_factory=dict)
    """Of phases of the host that are marked, by name and round, from when to when they ran."""

    @property
    def maps(self) -> tuple[str, ...]:
        """What a user would say of the names, where no mark does."""
        if self.marks != "none":
            return ()
        return tuple(f"^{phase.name}_k={phase.name}" for phase in self.schedule.phases)

    def write(self, path: Path) -> Path:
        path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": list(self.events())}))
        return path

    def events(self) -> Iterator[dict]:
        seen = {kernel.correlation for kernel in self.kernels if not kernel.lost}
        for one in self.launches:
            name = "cudaGraphLaunch" if one.graph else "cudaLaunchKernel"
            if one.correlation in seen:
                yield _event(
                    name, "cuda_runtime", 1, 1, one.start, 1, {"correlation": one.correlation}
                )
        for name, start, end in self.ranges:
            yield _event(name, "user_annotation", 1, 1, start, end - start, {})
        if self.marks == "stream":
            yield from self.projected()
        for one in self.kernels:
            if not one.lost:
                args = {"correlation": one.correlation, "stream": one.stream, "device": 0}
                length = one.end - one.start
                yield _event(one.name, "kernel", 0, one.stream, one.start, length, args)

    def projected(self) -> Iterator[dict]:
        """Each phase outside graphs, and each graph, as a range of the streams that it runs on."""
        spans: dict[tuple[str, int, int], tuple[int, int]] = {}
        for one in self.kernels:
            if one.node is not None:
                key = one.node, one.round, one.stream
                start, end = spans.get(key, (one.start, one.end))
                spans[key] = min(start, one.start), max(end, one.end)
        for (node, round, stream), (start, end) in spans.items():
            name = f"{self.schedule.name}/{node} #{round}"
            yield _event(name, "gpu_user_annotation", 0, stream, start, end - start, {})


def _event(
    name: str, category: str, process: int, thread: int, start: int, length: int, args: dict
) -> dict:
    return {
        "ph": "X",
        "name": name,
        "cat": category,
        "pid": process,
        "tid": thread,
        "ts": start / 1000,
        "dur": length / 1000,
        "args": args,
    }


def drawn(random: Random, rounds: int = ROUNDS, marks: str | None = None) -> Drawn:
    """A safe round of `drawing.safe`, so often, without damage."""
    text = safe_round(random, guarded=0).text()
    return traced(random, compile_source(Source("drawn.spec", text), Asked()), rounds, marks)


def traced(
    random: Random,
    schedule: Schedule,
    rounds: int,
    marks: str | None = None,
    most: int = MOST_KERNELS,
) -> Drawn:
    costs = tuple(
        (phase.name, Cost(Law(random.randrange(8_000, 90_000)), host=random.randrange(2_000)))
        for phase in schedule.phases
    )
    host = HostCosts(
        run=4_000, replay=6_000, load=2_000, record=500, wait=500, block=500, round=1_000
    )
    profile = Profile("drawn", "cpu", (), host, StreamCosts(load=900, replay=2_000, gap=400), costs)
    bucket = schedule.buckets.index(schedule.widest)
    found = simulate(schedule, profile, [bucket] * rounds)
    made = Drawn(schedule, marks or random.choice(MARKS))
    counts = {phase.name: random.randint(1, most) for phase in schedule.phases}
    made.numbered = made.marks == "stream" or (made.marks == "host" and random.random() < 0.5)
    issued: dict[tuple, tuple[int, int]] = {}
    for span in found.spans:
        doing = span.what
        if span.stream < 0 and doing.kind in ("phase", "replay", "load"):
            issued[doing.kind, doing.number, doing.round] = span.start, span.end
            if made.marks == "host" and doing.kind != "load":
                name = (
                    f"{schedule.name}/{doing.name} #{doing.round}" if made.numbered else doing.name
                )
                made.ranges.append((name, span.start, span.end))
                if doing.kind == "phase" and schedule.phases[doing.number].stream == HOST:
                    made.hosts[doing.name, doing.round] = span.start, span.end
    correlations: dict[tuple, int] = {}
    for span in found.spans:
        doing = span.what
        if span.stream < 0 or doing.kind not in ("phase", "load") or span.end == span.start:
            continue
        graph = doing.capture is not None
        key = (
            ("replay", doing.capture, doing.round)
            if graph
            else (doing.kind, doing.number, doing.round)
        )
        start, end = issued[key]
        _, inside, stream = found.lanes.places[span.stream]
        lane = stream if inside is None else stream + 10 * (inside + 1)
        if doing.kind == "load":
            made.launches.append(Launch(len(made.launches) + 1, start + 1, False))
            made.kernels.append(
                Kernel("copy_in", lane, span.start, span.end, len(made.launches), None, doing.round)
            )
            continue
        node = schedule.captures[doing.capture].name if graph else doing.name
        count = counts[doing.name]
        for place in range(count):
            if not graph or key not in correlations:
                correlations[key] = len(made.launches) + 1
                at = start + 1 + (end - start - 2) * place // count
                made.launches.append(Launch(correlations[key], at, graph))
            slot = (span.end - span.start) // count
            first = span.start + slot * place + random.randrange(slot // 4)
            last = span.start + slot * (place + 1) - random.randrange(slot // 4)
            if place == count - 1:
                last = span.end - random.randrange(slot // 4)
            name = f"{doing.name}_k{place}<float, {random.randrange(9)}>(int)"
            made.kernels.append(
                Kernel(
                    name, lane, first, last, correlations[key], node, doing.round, doing.name, place
                )
            )
    made.kernels.sort(key=lambda one: (one.start, one.end))
    return made


def damaged(random: Random, made: Drawn) -> Drawn:
    """The same with kernels dropped, inserted and renamed."""
    kernels = list(made.kernels)
    for one in kernels:
        chance = random.random()
        if chance < DROPPED:
            one.lost = True
        elif chance < DROPPED + RENAMED:
            one.renamed = True
            one.name = f"other_{random.randrange(NAMES)}"
    streams: dict[int, list[Kernel]] = {}
    for one in kernels:
        streams.setdefault(one.stream, []).append(one)
    launched = {one.correlation: one.start for one in made.launches}
    for held in streams.values():
        for before, after in pairwise(held):
            room = after.start - before.end
            if room > 100 and random.random() < INSERTED:
                start = before.end + room // 3
                at = launched[before.correlation]  # a stream does in order what it was launched
                made.launches.append(Launch(len(made.launches) + 1, at, False))
                name = f"stranger_{random.randrange(NAMES)}"
                kernel = Kernel(
                    name, before.stream, start, start + room // 3, len(made.launches), None, -1
                )
                made.kernels.append(kernel)
    made.kernels.sort(key=lambda one: (one.start, one.end))
    return made


@dataclass
class Truth:
    """What an alignment should find, from all that ran."""

    spans: dict[tuple[str, int], tuple[int, int]]
    """Of every node in every round from when to when it ran, in nanoseconds of the trace."""
    sure: set[tuple[str, int]]
    """Those whose last kernel on every stream is in the trace under its own name, or marked."""
    whole: set[tuple[str, int]]
    """Of them, those of which that is so of the first too."""

    def last(self, sources: list[tuple[str, int]]) -> str:
        return max(sources, key=lambda one: self.spans[one][1])[0]


def truth(made: Drawn, zero: int) -> Truth:
    spans = {key: (start - zero, end - zero) for key, (start, end) in made.hosts.items()}
    sure = set(spans)
    begins: dict[tuple[str, int, int], Kernel] = {}
    ends: dict[tuple[str, int, int], Kernel] = {}
    for one in made.kernels:
        if one.node is None:
            continue
        key = one.node, one.round
        start, end = spans.get(key, (one.start - zero, one.end - zero))
        spans[key] = min(start, one.start - zero), max(end, one.end - zero)
        newest = ends.setdefault((*key, one.stream), one)
        if one.end > newest.end:
            ends[(*key, one.stream)] = one
        oldest = begins.setdefault((*key, one.stream), one)
        if one.start < oldest.start:
            begins[(*key, one.stream)] = one
    endless, headless = (
        {
            (node, round)
            for (node, round, _), one in found.items()
            if (one.lost or one.renamed) and made.marks != "stream"
        }
        for found in (ends, begins)
    )
    known = (sure | set(spans)) - endless
    return Truth(spans, known, known - headless)
