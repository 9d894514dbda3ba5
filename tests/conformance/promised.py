"""What a schedule promises that the driver is asked for, call by call."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from math import prod
from typing import NamedTuple

from plait.runtime.program_padding import Padding
from plait.runtime.schedule import HOST, PHASE_OPS, WIDTHS, Instruction, Region, Schedule


class Access(NamedTuple):
    kind: str
    """`reads` or `writes`."""
    name: str
    """A copy of a buffer, or what a graph has of its own in its place."""
    size: int
    by_host: bool = False
    """Parameters of tasks, which are the host's to write and to hand over."""


class Call(NamedTuple):
    """What the schedule promises."""

    op: str
    stream: str = ""
    of: str = ""
    accesses: tuple[Access, ...] = ()
    capture: int = -1
    """Of the graph that is executed."""

    def __str__(self) -> str:
        words = [self.op, self.of, f"on {self.stream}" if self.stream else ""]
        words += [f"{one.kind} {one.name}" for one in self.accesses]
        return " ".join(word for word in words if word)


def copy_name(schedule: Schedule, buffer: int, copy: int) -> str:
    entry = schedule.buffers[buffer]
    return entry.name if entry.opaque or entry.copies == 1 else f"{entry.name}[{copy}]"


def opaque_shape(schedule: Schedule, buffer: int) -> tuple[int, ...]:
    """Of the bytes that stand for an opaque buffer: room for every region of it that is touched."""
    bounds = [8]
    for bucket in schedule.buckets:
        for phase, regions in zip(schedule.phases, bucket.regions, strict=True):
            for argument, region in zip(phase.arguments, regions, strict=False):
                for place, axis in enumerate(region or ()) if argument.buffer == buffer else ():
                    bounds += [8] * (place + 1 - len(bounds))
                    if axis is not None:
                        last = axis[1] if isinstance(axis, tuple) else axis + 1
                        bounds[place] = max(bounds[place], last)
    return tuple(bounds)


class Promised:
    """The calls of a schedule's rounds, given the buckets of all of them."""

    def __init__(self, schedule: Schedule):
        self.schedule = schedule
        self.padding = [Padding(schedule, bucket) for bucket in schedule.buckets]
        """Where there are copies whose rows that only pad are filled; rounds here have none to fill."""
        self.recorded: set[tuple[int, int]] = set()
        """Events, with the turn that was."""
        self.external = schedule.external_events()
        self.owed: Counter[str] = Counter()
        """Of turns of external events, the replays that wait for them, less records."""

    def round(self, number: int, at: int) -> Iterator[Call]:
        for one in self.schedule.program_of(self.schedule.buckets[at]):
            stream = self.stream(one)
            if one.op in PHASE_OPS:
                yield from self.copies(one, number, at)
                yield self.phase(one, number, at)
            if one.op == "rebind":
                yield from self.updates(one, number, at)
            elif one.op == "load":
                yield self.load(one, number, at)
            elif one.op == "replay":
                for inside in self.schedule.captures[one.of].program:
                    if inside.op == "external":
                        self.owed[self.turn(inside, number)] += 1
                name = self.graph_name(number, at, one.of)
                yield Call("execute", stream, name, capture=one.of)
            elif one.op in ("record", "wait", "block"):
                yield from self.event(one, number)

    def graph(self, number: int, at: int, capture: int) -> Iterator[Call]:
        """What was issued while the graph was captured that is executed in a round."""
        graph = self.graph_name(number, at, capture)
        on = self.schedule.streams[self.schedule.captures[capture].stream].name
        yield Call("capture", on)
        for one in self.schedule.captures[capture].program:
            stream = self.stream(one)
            if one.op in PHASE_OPS:
                tasks = self.tasks(one.of)
                if tasks:
                    yield Call("tasks", stream)
                yield self.phase(one, number, at)
                if tasks:
                    yield Call("tasked", stream, f"{graph}:{one.of}")
            elif one.op == "external":
                name = self.turn(one, number)
                yield Call("value_wait 1", stream, name)
                yield Call("value_write 0", stream, name)
            else:
                yield Call(one.op, stream, f"{graph}:{one.of}")
        yield Call("captured", on, graph)

    def graph_name(self, number: int, at: int, capture: int) -> str:
        """One for every combination of copies that it holds."""
        entry = self.schedule.captures[capture]
        held = {
            (argument.buffer, argument.rounds_back)
            for phase in entry.phases
            for argument in self.schedule.phases[phase].arguments
        } - set(self.copied_in(at, capture))
        turns = [self.copy(*one, number) for one in sorted(held)]
        turns += [self.turn(one, number) for one in entry.program if one.op == "external"]
        return f"{at} {capture} {turns}"

    def stream(self, one: Instruction) -> str:
        return self.schedule.streams[one.on].name if one.on != HOST else "host"

    # Events

    def event(self, one: Instruction, number: int) -> Iterator[Call]:
        event = self.schedule.events[one.of]
        key = (one.of, (number - one.rounds_back) % event.depth)
        if one.op == "record":
            self.recorded.add(key)
            yield Call("record", self.stream(one), self.turn(one, number))
            if one.of in self.external:
                yield from self.fill(self.turn(one, number), self.stream(one))
        elif key in self.recorded:  # of an event that was never recorded torch_npu asks nothing
            op = "block" if one.on == HOST else "wait"
            yield Call(op, self.stream(one), self.turn(one, number))

    def fill(self, name: str, stream: str) -> Iterator[Call]:
        """A slot holds one record: one that no graph took is taken before the next."""
        if self.owed[name] < 0:
            yield Call("value_wait 1", stream, name)
            yield Call("value_write 0", stream, name)
        self.owed[name] = max(self.owed[name], 0) - 1
        yield Call("value_write 1", stream, name)

    def turn(self, one: Instruction, number: int) -> str:
        event = self.schedule.events[one.of]
        return f"{one.of} {event.name}[{(number - one.rounds_back) % event.depth}]"

    # Memory

    def phase(self, one: Instruction, number: int, at: int) -> Call:
        phase = self.schedule.phases[one.of]
        regions = self.schedule.buckets[at].regions[one.of]
        own = () if phase.capture is None else self.copied_in(at, phase.capture)
        padding = self.padding[at]
        copied = padding.phases[one.of].own if one.of in padding.phases else {}
        reads: list[Access] = []
        writes: list[Access] = []
        for place, (argument, region) in enumerate(zip(phase.arguments, regions, strict=True)):
            key = (argument.buffer, argument.rounds_back)
            name = self.copy(*key, number)
            newer = (one.of, argument.name) in padding.newer
            if argument.kind == "reads" and key in own and not newer:
                name = self.own(at, phase.capture, *key)
            elif place in copied:
                name = self.own_of_phase(at, one.of, place)
            size = self.size(argument.buffer, at, region)
            by_host = self.schedule.buffers[argument.buffer].task
            if argument.kind != "writes":
                reads.append(Access("reads", name, size, by_host))
            if argument.kind != "reads":
                writes.append(Access("writes", name, size, by_host))
        found = tuple(one for one in reads + writes if one.size)
        return Call("phase", self.stream(one), phase.name, found)

    def copies(self, one: Instruction, number: int, at: int) -> Iterator[Call]:
        """What a phase that only reads padded rows of an earlier round is given instead of them."""
        regions = self.schedule.buckets[at].regions[one.of]
        found: list[Access] = []
        for place, argument in self.padding[at].phases[one.of].own.items():
            size = self.size(argument.buffer, at, regions[place])
            name = self.copy(argument.buffer, argument.rounds_back, number)
            found.append(Access("reads", name, size))
            found.append(Access("writes", self.own_of_phase(at, one.of, place), size))
        if found:
            yield Call("load", self.stream(one), self.schedule.phases[one.of].name, tuple(found))

    def load(self, one: Instruction, number: int, at: int) -> Call:
        capture = self.schedule.captures[one.of]
        found: list[Access] = []
        for buffer, back in self.copied_in(at, one.of):
            name, size = self.copy(buffer, back, number), self.size(buffer, at, None)
            own = self.own(at, one.of, buffer, back)
            found += [Access("reads", name, size), Access("writes", own, size)]
        return Call("load", self.stream(one), capture.name, tuple(found))

    def own(self, at: int, capture: int | None, buffer: int, rounds_back: int) -> str:
        """What a graph of a bucket has in the place of a buffer's copy."""
        return f"own {at} {capture} {self.schedule.buffers[buffer].name} {rounds_back}"

    def own_of_phase(self, at: int, phase: int, place: int) -> str:
        return f"own {at} of {phase} {place}"

    def copied_in(self, at: int, capture: int) -> tuple[tuple[int, int], ...]:
        """What a graph has copies of: those that the schedule says, and padded ones."""
        taken = self.padding[at].taken.get(capture, ())
        return (*self.schedule.captures[capture].copied_in, *taken)

    def copy(self, buffer: int, rounds_back: int, number: int) -> str:
        copies = self.schedule.buffers[buffer].copies
        return copy_name(self.schedule, buffer, (number - rounds_back) % copies)

    def size(self, buffer: int, at: int, region: Region) -> int:
        entry, shape = self.schedule.buffers[buffer], self.schedule.buckets[at].shapes[buffer]
        if entry.opaque or shape is None:
            shape = opaque_shape(self.schedule, buffer)
        lengths = list(shape)
        for place, axis in enumerate(region or ()):
            if axis is not None:
                lengths[place] = axis[1] - axis[0] if isinstance(axis, tuple) else 1
        return prod(lengths) * WIDTHS.get(entry.dtype, 1)

    # Tasks

    def tasks(self, phase: int) -> tuple[int, ...]:
        arguments = self.schedule.phases[phase].arguments
        read = {a.buffer for a in arguments if a.kind == "reads"}
        return tuple(sorted(number for number in read if self.schedule.buffers[number].task))

    def updates(self, one: Instruction, number: int, at: int) -> Iterator[Call]:
        arguments = self.schedule.phases[one.of].arguments
        written = {a.buffer for a in arguments if a.kind != "reads"}
        program = self.schedule.program_of(self.schedule.buckets[at])
        stream = self.stream(one)
        for replay in program:
            if replay.op != "replay":
                continue
            for buffer in sorted(written):
                for inner in self.schedule.captures[replay.of].program:
                    if inner.op in PHASE_OPS and buffer in self.tasks(inner.of):
                        graph = self.graph_name(number, at, replay.of)
                        yield Call("update", stream, f"{graph}:{inner.of}")
                        yield self.phase(inner, number, at)._replace(stream=stream)
                        yield Call("updated", stream)
