"""One of two schedules that are compared, with what is known of it."""

from __future__ import annotations

from dataclasses import replace

from plait.compiler.diff.row import Row
from plait.compiler.measures.measures import Measures
from plait.compiler.timing.costs import Profile
from plait.dsl.record import Record
from plait.runtime.schedule import Bucket, Schedule


class Hazard(Record):
    """Something that `check` finds wrong."""

    code: str
    message: str
    where: str
    """`file:line`; empty where only the code is known."""


class Side(Record):
    title: str
    schedule: Schedule
    bucket: int
    """The one that orders and figures are of, by number."""
    hazards: tuple[Hazard, ...] = ()
    profile: Profile | None = None
    """None: nobody asked what it takes."""
    measures: Measures | None = None
    """None: nobody asked, or it waits in a circle."""
    stuck: bool = False
    """Whether it waits in a circle."""
    padded: int | None = None
    """Rows that its graphs replay for nobody; None: nobody knows."""

    @property
    def at(self) -> Bucket:
        return self.schedule.buckets[self.bucket]

    @property
    def costs(self) -> str:
        """Name of the profile that its measures are from; empty without."""
        return self.measures.costs if self.measures else ""


def side_of(schedule: Schedule) -> Side:
    """A schedule by itself, at its widest bucket."""
    variant = f"@{schedule.variant}" if schedule.variant else ""
    title = f"{schedule.source.name}{variant}"
    bucket = schedule.buckets.index(schedule.widest)
    return Side(title, schedule, bucket, hazards_of(schedule))


def hazards_of(schedule: Schedule) -> tuple[Hazard, ...]:
    """What a schedule itself tells: the codes that it was lowered in spite of."""
    if not schedule.unchecked:
        return ()
    from plait.compiler.rules import meanings

    known = meanings()
    return tuple(Hazard(code, known.get(code, ("", ""))[0], "") for code in schedule.unchecked)


def apart(schedule: Schedule) -> Schedule:
    """Every buffer in memory of its own, as of a schedule that is not proven."""
    buffers = tuple(replace(buffer, offset=None) for buffer in schedule.buffers)
    return replace(schedule, buffers=buffers, arena=0)


def hazards(before: Side, after: Side) -> tuple[Row, ...]:
    """New ones and those that are gone: by code and message, or by code where one side has no more."""
    told = all(one.where for side in (before, after) for one in side.hazards)

    def named(side: Side) -> dict[tuple[str, str], Hazard]:
        return {(one.code, one.message if told else ""): one for one in side.hazards}

    first, second = named(before), named(after)
    gone = [
        Row("hazard", one.code, "", _said(one), "")
        for key, one in first.items()
        if key not in second
    ]
    new = [
        Row("hazard", "", one.code, "", _said(one))
        for key, one in second.items()
        if key not in first
    ]
    return (*new, *gone)


def _said(one: Hazard) -> str:
    return f"{one.message} ({one.where})" if one.where else one.message
