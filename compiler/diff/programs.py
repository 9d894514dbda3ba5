"""The instructions of a round as texts, one each, by the names of what they are of."""

from __future__ import annotations

from collections.abc import Iterator

from plait.compiler.diff.facts import Called, own
from plait.runtime.schedule import PHASE_OPS, Bucket, Instruction, Schedule


def listing(schedule: Schedule, bucket: Bucket, called: Called = own) -> list[str]:
    """Events are told apart by when they first stand there, as what they are called follows from the rest."""
    return list(_Listing(schedule, called).of(schedule.program_of(bucket)))


class _Listing:
    def __init__(self, schedule: Schedule, called: Called):
        self.schedule = schedule
        self.called = called
        self.events: dict[int, int] = {}

    def of(self, program: tuple[Instruction, ...]) -> Iterator[str]:
        schedule = self.schedule
        for one in program:
            stream = self.called(("stream", schedule.streams[one.on].name))
            back = f", {one.rounds_back} rounds back" if one.rounds_back else ""
            yield f"{one.op} {self.what(one)} on {stream}{back}"
            if one.op == "replay":
                inner = schedule.captures[one.of].program
                own_events = _Listing(schedule, self.called)
                outside = (step for step in inner if step.op == "external")
                yield from own_events.of(tuple(step for step in inner if step.op != "external"))
                yield from self.of(tuple(outside))

    def what(self, one: Instruction) -> str:
        schedule = self.schedule
        if one.op in PHASE_OPS:
            return self.called(("phase", schedule.phases[one.of].name))
        if one.op in ("load", "replay"):
            return self.called(("capture", schedule.captures[one.of].name))
        if one.op == "vote":
            return ", ".join(schedule.votes[one.of].names)
        return f"event {self.events.setdefault(one.of, len(self.events))}"
