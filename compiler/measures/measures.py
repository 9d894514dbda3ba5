"""A schedule's round in a few figures, by which two are compared: time, communication, memory, streams."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from plait.compiler.measures.communication import (
    Exchange,
    Exposed,
    communication,
    exchanges,
    exposed,
)
from plait.compiler.measures.memory import memory
from plait.compiler.measures.window import Window, window
from plait.compiler.timing.costs import Profile
from plait.dsl.record import Record
from plait.runtime.schedule import HOST, Bucket, Instruction, Schedule


class Measures(Record):
    bucket: str
    costs: str
    """Name of the profile that times are from."""
    round: int
    """Nanoseconds from the end of a round to the end of the next, once they repeat."""
    communication: int
    """Nanoseconds of a round in which something is exchanged."""
    exposed: Exposed
    memory: int
    """Bytes of the device: the arena, buffers outside it, and what graphs copy in, for all buckets."""
    streams: int
    """That a round uses, those within graphs and of operations in flight included."""
    records: int
    waits: int
    """Of a round, those within graphs and of the host included."""
    replays: int
    rows: int
    """That its graphs replay, those that only pad included."""

    def per_token(self, accepted: Fraction) -> Fraction:
        """Nanoseconds for each token, of rounds that commit so many: a ratio of sums."""
        return self.round / accepted


def measures(schedule: Schedule, profile: Profile, bucket: int) -> Measures:
    """Of rounds at one bucket, by number. Raises Stuck as `simulate`."""
    found = window(schedule, profile, bucket)
    return measured(found, exchanges(found))


def measured(found: Window, made: Sequence[Exchange]) -> Measures:
    """`made`: its exchanges."""
    steps = list(instructions(found.schedule, found.bucket))
    return Measures(
        found.bucket.name,
        found.profile.name,
        round(found.mean),
        communication(found),
        exposed(found, made),
        memory(found.schedule),
        len({one.on for one in steps} - {HOST}),
        sum(one.op == "record" for one in steps),
        sum(one.op in ("wait", "block", "external") for one in steps),
        sum(one.op == "replay" for one in steps),
        sum(found.bucket.rows[one.of] for one in steps if one.op == "replay"),
    )


def instructions(schedule: Schedule, bucket: Bucket) -> list[Instruction]:
    """Of a round, with those of the graphs that it replays behind the replay."""
    found = []
    for one in schedule.program_of(bucket):
        found.append(one)
        if one.op == "replay":
            found += schedule.captures[one.of].program
    return found
