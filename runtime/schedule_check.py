"""Whether the parts of a Schedule belong together: what no form of a single part can say.

Every number points into its table, every phase runs where it says, every wait has its record, and
whatever takes part in a bucket has its sizes there. The first fault raises ScheduleError.
"""

from __future__ import annotations

import re
from typing import NoReturn

from plait.runtime.schedule import (
    HOST,
    PHASE_OPS,
    Bucket,
    Capture,
    Instruction,
    Region,
    Schedule,
)
from plait.runtime.schedule_arena import arena_fault


class ScheduleError(Exception):
    """A schedule that cannot be used: where in it, what is wrong, and what to do."""

    def __init__(self, where: str, problem: str):
        self.where = where
        self.problem = problem
        super().__init__(f"{where}: {problem}; compile the spec again")


class Check:
    """`Check(schedule, name).all()` raises ScheduleError; `name` is what messages call the schedule."""

    def __init__(self, schedule: Schedule, name: str):
        self.schedule = schedule
        self.name = name

    def all(self) -> None:
        self.streams()
        self.unique()
        self.places()
        self.memory()
        self.phases()
        self.captures()
        recorded = {
            one.of for program in self.schedule.programs for one in program if one.op == "record"
        }
        for number, program in enumerate(self.schedule.programs):
            self.program(f"programs[{number}]", program, recorded)
        self.buckets()
        if (found := arena_fault(self.schedule)) is not None:
            self.fail(*found)

    def fail(self, where: str, problem: str) -> NoReturn:
        raise ScheduleError(f"{self.name}: {where}", problem)

    def number(self, where: str, number: int, table: str) -> None:
        size = len(getattr(self.schedule, table))
        if number >= size:
            self.fail(where, f"is {number}, but there are {size} {table}")

    def streams(self) -> None:
        streams = self.schedule.streams
        if not streams or streams[HOST].name != "host":
            self.fail("streams", "should begin with the host")
        for number, stream in enumerate(streams):
            if (stream.kind == "host") != (number == HOST):
                self.fail(f"streams[{number}]", "only stream 0 is the host")

    def unique(self) -> None:
        for table in ("streams", "groups", "pools"):
            first: dict[str, int] = {}
            for number, entry in enumerate(getattr(self.schedule, table)):
                if first.setdefault(entry.name, number) != number:
                    other = f"{table}[{first[entry.name]}]"
                    self.fail(f"{table}[{number}]", f"has the name of {other}")

    def places(self) -> None:
        schedule = self.schedule
        entries = [*schedule.buffers, *schedule.phases, *schedule.captures]
        entries += [*schedule.votes, *schedule.same]
        entries += [one for one in schedule.streams if one.place]
        instructions = [one for program in schedule.programs for one in program]
        instructions += [one for capture in schedule.captures for one in capture.program]
        entries += [one for one in instructions if one.place]
        for entry in entries:
            if entry.place and entry.place.file > len(schedule.used):
                self.fail("used", f"has no file {entry.place.file}, which a place names")

    def memory(self) -> None:
        for number, buffer in enumerate(self.schedule.buffers):
            if buffer.pool is not None:
                self.number(f"buffers[{number}].pool", buffer.pool, "pools")
        for number, group in enumerate(self.schedule.groups):
            if group.inside is not None:
                self.number(f"groups[{number}]", group.inside, "groups")
        for table in ("votes", "same"):
            for number, vote in enumerate(getattr(self.schedule, table)):
                if vote.group is not None:
                    self.number(f"{table}[{number}]", vote.group, "groups")

    def phases(self) -> None:
        captures = enumerate(self.schedule.captures)
        listed = {(number, phase) for number, capture in captures for phase in capture.phases}
        for number, phase in enumerate(self.schedule.phases):
            where = f"phases[{number}]"
            self.number(f"{where}.stream", phase.stream, "streams")
            if re.sub(r"\[[0-9]+\]", "", phase.name) != phase.body:
                self.fail(where, f"is named {phase.name}, but its body is {phase.body}")
            if phase.name.endswith("]") and not phase.name.endswith(f"[{phase.index}]"):
                self.fail(where, f"is named {phase.name}, but its index is {phase.index}")
            if phase.collective is not None:
                self.number(f"{where}.collective", phase.collective.group, "groups")
            seen = set()
            for place, argument in enumerate(phase.arguments):
                self.number(f"{where}.arguments[{place}]", argument.buffer, "buffers")
                if argument.name in seen:
                    self.fail(f"{where}.arguments[{place}]", f"repeats {argument.name}")
                seen.add(argument.name)
            if phase.capture is not None:
                self.number(f"{where}.capture", phase.capture, "captures")
                if (phase.capture, number) not in listed:
                    self.fail(f"{where}.capture", "does not list this phase")

    def captures(self) -> None:
        for number, capture in enumerate(self.schedule.captures):
            where = f"captures[{number}]"
            self.number(f"{where}.stream", capture.stream, "streams")
            if capture.stream == HOST or not capture.phases:
                self.fail(where, "needs a device stream and at least one phase")
            for phase in capture.phases:
                self.number(f"{where}.phases", phase, "phases")
                if self.schedule.phases[phase].capture != number:
                    self.fail(f"{where}.phases", f"lists phase {phase}, which is not in it")
            for buffer, _ in capture.copied_in:
                self.number(f"{where}.copied_in", buffer, "buffers")
            if capture.pool is not None:
                self.number(f"{where}.pool", capture.pool, "pools")
            self.inner_program(f"{where}.program", number, capture)

    def inner_program(self, where: str, number: int, capture: Capture) -> None:
        """That a capture issues its phases, in their order, and waits for what it has recorded."""
        issued = tuple(one.of for one in capture.program if one.op in PHASE_OPS)
        if issued != capture.phases:
            self.fail(where, "does not issue the phases of the capture in their order")
        recorded: set[int] = set()
        for place, one in enumerate(capture.program):
            at = f"{where}[{place}]"
            self.number(at, one.on, "streams")
            if one.on == HOST:
                self.fail(at, "is on the host")
            if one.op in PHASE_OPS and self.schedule.phases[one.of].stream != one.on:
                self.fail(at, "runs a phase on another stream than its own")
            elif one.op == "external":
                self.number(at, one.of, "events")
            elif one.op == "record":
                recorded.add(one.of)
            elif one.op == "wait" and one.of not in recorded:
                self.fail(at, "waits for an event that is recorded only later")

    def program(self, where: str, program: tuple[Instruction, ...], anywhere: set[int]) -> None:
        """`anywhere`: the events that some program records."""
        tables = dict.fromkeys(PHASE_OPS, "phases")
        tables |= {"load": "captures", "replay": "captures", "vote": "votes"}
        recorded: set[int] = set()
        for place, one in enumerate(program):
            at = f"{where}[{place}]"
            self.number(at, one.of, tables.get(one.op, "events"))
            self.number(at, one.on, "streams")
            if one.op in PHASE_OPS:
                phase = self.schedule.phases[one.of]
                if phase.stream != one.on or phase.capture is not None:
                    self.fail(at, f"runs {phase.name} where it does not belong")
            elif one.op in ("load", "replay"):
                if self.schedule.captures[one.of].stream != one.on:
                    self.fail(at, "replays a capture on another stream than its own")
            elif (one.op in ("block", "vote")) != (one.on == HOST):
                self.fail(at, f"is a {one.op} on {self.schedule.streams[one.on].name}")
            elif one.op == "record":
                recorded.add(one.of)
            elif one.op == "vote":
                continue
            elif one.rounds_back >= self.schedule.events[one.of].depth:
                self.fail(at, "waits for an older record than is kept")
            elif one.rounds_back == 0 and one.of not in recorded:
                self.fail(at, "waits for an event that is recorded only later")
            elif one.of not in anywhere:
                self.fail(at, "waits for an event that nothing records")
        self.loads(where, program)

    def loads(self, where: str, program: tuple[Instruction, ...]) -> None:
        """That a graph is replayed once its inputs are copied in, and they are for nothing else."""
        loaded: dict[int, int] = {}
        for place, one in enumerate(program):
            if one.op == "load":
                loaded[one.of] = place
            elif one.op == "replay":
                known, capture = loaded.pop(one.of, None), self.schedule.captures[one.of]
                if (known is None) == bool(capture.copied_in):
                    wrong = "had not loaded" if known is None else "does not take in"
                    self.fail(f"{where}[{place}]", f"replays {capture.name} with inputs it {wrong}")
        for capture, place in loaded.items():
            name = self.schedule.captures[capture].name
            self.fail(f"{where}[{place}]", f"loads {name}, which is not replayed below")

    def buckets(self) -> None:
        schedule = self.schedule
        if not schedule.buckets:
            self.fail("buckets", "should have at least one entry")
        dims = [name for name, _ in schedule.buckets[0].sizes]
        for number, bucket in enumerate(schedule.buckets):
            where = f"buckets[{number}]"
            self.number(f"{where}.program", bucket.program, "programs")
            for field, table in (
                ("shapes", "buffers"),
                ("regions", "phases"),
                ("rows", "captures"),
                ("work", "phases"),
            ):
                found, wanted = len(getattr(bucket, field)), len(getattr(schedule, table))
                if found != wanted:
                    self.fail(f"{where}.{field}", f"has {found} entries for {wanted} {table}")
            if [name for name, _ in bucket.sizes] != dims:
                self.fail(f"{where}.sizes", "has other dims than the first bucket")
            for buffer, shape in zip(schedule.buffers, bucket.shapes, strict=True):
                if shape is None and not buffer.opaque:
                    self.fail(f"{where}.shapes", f"{buffer.name} is {buffer.dtype}")
            for buffer, *parts in bucket.disjoint:
                self.number(f"{where}.disjoint", buffer, "buffers")
                if not all(_fits(part, bucket.shapes[buffer]) for part in parts):
                    problem = f"a part of {schedule.buffers[buffer].name} lies outside of it"
                    self.fail(f"{where}.disjoint", problem)
            self.parts(where, bucket)
        self.axes()

    def axes(self) -> None:
        """That a buffer has the same number of axes in every bucket it has a part in."""
        dims = {name for name, _ in self.schedule.buckets[0].sizes}
        for number, buffer in enumerate(self.schedule.buffers):
            shapes = [bucket.shapes[number] for bucket in self.schedule.buckets]
            if len({len(shape) for shape in shapes if shape}) > 1:
                self.fail("buckets", f"give {buffer.name} different numbers of axes")
            axes = {len(shape) for shape in shapes if shape}
            if buffer.live and axes and axes != {len(buffer.live)}:
                self.fail(f"buffers[{number}].live", f"does not fit the axes of {buffer.name}")
            if not {axis[0] for axis in buffer.live if axis} <= dims:
                self.fail(f"buffers[{number}].live", "names what is no dim")

    def parts(self, where: str, bucket: Bucket) -> None:
        """That what takes part in a bucket has its sizes there."""
        schedule = self.schedule
        program = schedule.program_of(bucket)
        replayed = {one.of for one in program if one.op == "replay"}
        phases = {one.of for one in program if one.op in PHASE_OPS}
        for capture in replayed:
            phases |= set(schedule.captures[capture].phases)
            if bucket.rows[capture] < 1:
                self.fail(f"{where}.rows", f"has no rows for {schedule.captures[capture].name}")
        for number in phases:
            phase, regions = schedule.phases[number], bucket.regions[number]
            if len(regions) != len(phase.arguments):
                self.fail(f"{where}.regions", f"do not fit the arguments of {phase.name}")
            for argument, region in zip(phase.arguments, regions, strict=True):
                shape = bucket.shapes[argument.buffer]
                if shape == () or not _fits(region, shape):
                    problem = f"{argument.name} of {phase.name} lies outside its buffer"
                    self.fail(f"{where}.regions", problem)


def _fits(region: Region, shape: tuple[int, ...] | None) -> bool:
    if region is None:
        return True
    if shape is None:
        return all(axis[0] < axis[1] for axis in region if isinstance(axis, tuple))
    if len(region) != len(shape):
        return False
    for axis, size in zip(region, shape, strict=True):
        first, last = (
            (0, size) if axis is None else axis if isinstance(axis, tuple) else (axis, axis + 1)
        )
        if not first < last <= size:
            return False
    return True
