"""A schedule repeated for some rounds as steps on queues, in issue order: what both oracles look at.

It is read from the instructions alone, and from what the language says of how long an access lasts. A
cell is the least part of a copy of a buffer that any access tells apart.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from itertools import product
from math import prod
from typing import NamedTuple, TypeAlias

from plait.runtime.schedule import HOST, PHASE_OPS, Bucket, Capture, Instruction, Region, Schedule

Queue: TypeAlias = "tuple[int | None, int]"
"""A stream, or a side stream within a capture, which is none of those outside."""
Cells: TypeAlias = "frozenset[int]"
MOST_CELLS = 100_000

NONE: Cells = frozenset()


class Run(NamedTuple):
    """A phase, or the load of a capture."""

    queue: Queue
    name: str
    phases: tuple[str, ...]
    """Itself, or those that read what is loaded."""
    round: int
    reads: Cells
    writes: Cells
    from_issue: Cells = NONE
    """Those of what it reads that it may read as soon as the host issues it."""
    changed_from_issue: Cells = NONE
    """Those of them that it updates: where it may read it may write."""
    to_close: Cells = NONE
    """Those of what it reads that are read until the replay that it is in has ended."""
    replay: int | None = None


class Open(NamedTuple):
    """A replay begins: seen from outside, what its phases touch is touched until it ends."""

    queue: Queue
    name: str
    round: int
    replay: int
    reads: Cells
    writes: Cells
    phases: tuple[str, ...]


class Close(NamedTuple):
    queue: Queue
    replay: int


class Record(NamedTuple):
    queue: Queue
    event: Hashable


class Wait(NamedTuple):
    """The queue, which may be the host's, goes on when the event's record is over."""

    queue: Queue
    event: Hashable


Step: TypeAlias = "Run | Open | Close | Record | Wait"


def trace(schedule: Schedule, buckets: Sequence[Bucket]) -> list[Step]:
    """The steps of one round of each bucket, one after another."""
    return list(_Trace(schedule, buckets).steps())


def rounds_of(schedule: Schedule) -> int:
    """How many rounds show every race of a route that repeats: one more than any buffer has copies."""
    depth = max((event.depth for event in schedule.events), default=1)
    return 1 + max(depth, *(buffer.copies for buffer in schedule.buffers), 1)


class _Trace:
    def __init__(self, schedule: Schedule, buckets: Sequence[Bucket]):
        self.schedule = schedule
        self.buckets = buckets
        self.memory = _Memory(schedule, buckets)
        self.records: dict[int, list[int]] = {}
        """Of each event, the rounds it was recorded in."""
        self.replays = 0

    def steps(self) -> Iterator[Step]:
        for number, bucket in enumerate(self.buckets):
            for one in self.schedule.program_of(bucket):
                yield from self.outside(number, bucket, one)

    def outside(self, number: int, bucket: Bucket, one: Instruction) -> Iterator[Step]:
        queue = (None, one.on)
        if one.op in PHASE_OPS:
            yield self.run(number, bucket, one.of, queue)
        elif one.op == "record":
            self.records.setdefault(one.of, []).append(number)
            yield Record(queue, (one.of, number))
        elif one.op in ("wait", "block"):
            yield from self.wait(number, one, queue)
        elif one.op == "load":
            yield self.load(number, bucket, one.of, queue)
        elif one.op == "replay":
            yield from self.replay(number, bucket, one.of, queue)

    def wait(self, number: int, one: Instruction, queue: Queue) -> Iterator[Wait]:
        """For the newest record of a round so long ago; none: no wait."""
        made = [past for past in self.records.get(one.of, ()) if past <= number - one.rounds_back]
        if made:
            yield Wait(queue, (one.of, made[-1]))

    # Captures

    def load(self, number: int, bucket: Bucket, capture: int, queue: Queue) -> Run:
        graph = self.schedule.captures[capture]
        reads, from_issue = set(), set()
        taken = list(self.taken_in(graph))
        for phase, argument in taken:
            cells = self.touched(number, bucket, phase, argument)
            of = self.schedule.phases[phase].arguments[argument].buffer
            reads |= cells
            if self.schedule.buffers[of].memory == "host":
                from_issue |= cells
        names = tuple(dict.fromkeys(self.schedule.phases[phase].name for phase, _ in taken))
        sets = frozenset(reads), NONE, frozenset(from_issue)
        return Run(queue, f"{graph.name}.loaded", names, number, *sets)

    def replay(self, number: int, bucket: Bucket, capture: int, queue: Queue) -> Iterator[Step]:
        schedule, graph = self.schedule, self.schedule.captures[capture]
        self.replays += 1
        replay = self.replays
        program = graph.program
        copied = set(self.taken_in(graph))
        queues = {one.on: self.inner(capture, graph, one.on) for one in program}
        reads, writes = set(), set()
        for phase in graph.phases:
            for place, argument in enumerate(schedule.phases[phase].arguments):
                if (phase, place) in copied or schedule.buffers[argument.buffer].task:
                    continue
                cells = self.touched(number, bucket, phase, place)
                reads |= cells if argument.kind != "writes" else NONE
                writes |= cells if argument.kind != "reads" else NONE
        names = tuple(schedule.phases[phase].name for phase in graph.phases)
        held = frozenset(reads), frozenset(writes)
        yield Open(queue, graph.name, number, replay, *held, names)
        yield Record(queue, ("replay", replay, "begin"))
        for side in set(queues.values()) - {queue}:
            yield Wait(side, ("replay", replay, "begin"))
        for one in program:
            inner = queues[one.on]
            if one.op in PHASE_OPS:
                yield self.run(number, bucket, one.of, inner, replay, copied)
            elif one.op == "record":
                yield Record(inner, ("replay", replay, one.of))
            elif one.op == "wait":
                yield Wait(inner, ("replay", replay, one.of))
            elif one.op == "external":
                yield from self.wait(number, one, inner)
        for side in sorted(set(queues.values()) - {queue}, key=str):
            yield Record(side, ("replay", replay, side))
            yield Wait(queue, ("replay", replay, side))
        yield Close(queue, replay)

    def inner(self, capture: int, graph: Capture, stream: int) -> Queue:
        return (None if stream == graph.stream else capture, stream)

    def taken_in(self, graph: Capture) -> Iterator[tuple[int, int]]:
        """Phases and the places of those arguments that are read from the graph's own inputs."""
        written: set[int] = set()
        for phase in graph.phases:
            arguments = self.schedule.phases[phase].arguments
            for place, argument in enumerate(arguments):
                own = argument.buffer in written and not argument.rounds_back
                key = (argument.buffer, argument.rounds_back)
                if key in graph.copied_in and argument.kind == "reads" and not own:
                    yield phase, place
            written |= {a.buffer for a in arguments if a.kind != "reads"}

    # Phases

    def run(
        self,
        number: int,
        bucket: Bucket,
        phase: int,
        queue: Queue,
        replay: int | None = None,
        copied: Iterable[tuple[int, int]] = (),
    ) -> Run:
        reads, writes, from_issue, changed, to_close = set(), set(), set(), set(), set()
        for place, argument in enumerate(self.schedule.phases[phase].arguments):
            if (phase, place) in copied:
                continue
            cells = self.touched(number, bucket, phase, place)
            buffer = self.schedule.buffers[argument.buffer]
            if argument.kind != "writes":
                reads |= cells
                if buffer.memory == "host" and queue[1] != HOST and replay is None:
                    from_issue |= cells
                    changed |= cells if argument.kind == "updates" else NONE
                if buffer.task and replay is not None:
                    to_close |= cells
            if argument.kind != "reads":
                writes |= cells
        name = self.schedule.phases[phase].name
        return Run(
            queue,
            name,
            (name,),
            number,
            frozenset(reads),
            frozenset(writes),
            frozenset(from_issue),
            frozenset(changed),
            frozenset(to_close),
            replay,
        )

    def touched(self, number: int, bucket: Bucket, phase: int, place: int) -> Cells:
        argument = self.schedule.phases[phase].arguments[place]
        regions = bucket.regions[phase]
        region = regions[place] if regions else None
        return self.memory.cells(argument.buffer, number - argument.rounds_back, region)


class _Memory:
    """Buffers, by name, cut along every bound that some region has."""

    def __init__(self, schedule: Schedule, buckets: Iterable[Bucket]):
        self.buffers = schedule.buffers
        self.cuts: dict[str, list[set[int]]] = {}
        for bucket in {id(one): one for one in buckets}.values():
            for phase, regions in zip(schedule.phases, bucket.regions, strict=True):
                for argument, region in zip(phase.arguments, regions, strict=False):
                    self.cut(self.buffers[argument.buffer].name, region)
        self.bounds = {name: [sorted(axis) for axis in axes] for name, axes in self.cuts.items()}
        self.numbers: dict[tuple, int] = {}
        self.known: dict[tuple, Cells] = {}

    def cut(self, name: str, region: Region) -> None:
        axes = self.cuts.setdefault(name, [])
        for place, axis in enumerate(region or ()):
            if place == len(axes):
                axes.append({0})
            if axis is not None:
                axes[place].update(axis if isinstance(axis, tuple) else (axis, axis + 1))

    def cells(self, buffer: int, round: int, region: Region) -> Cells:
        entry = self.buffers[buffer]
        key = (entry.name, round % entry.copies, region)
        if key not in self.known:
            self.known[key] = frozenset(self.counted(*key))
        return self.known[key]

    def counted(self, name: str, copy: int, region: Region) -> Iterator[int]:
        bounds = self.bounds.get(name, [])
        parts = [self.parts(bounds, place, region) for place in range(len(bounds))]
        if prod(map(len, parts)) > MOST_CELLS:
            raise ValueError(f"{name} is cut into more than {MOST_CELLS} cells")
        for at in product(*parts):
            yield self.numbers.setdefault((name, copy, at), len(self.numbers))

    def parts(self, bounds: list[list[int]], place: int, region: Region) -> list[int]:
        axis = region[place] if region is not None and place < len(region) else None
        if axis is None:
            return bounds[place]
        first, last = axis if isinstance(axis, tuple) else (axis, axis + 1)
        return [bound for bound in bounds[place] if first <= bound < last]
