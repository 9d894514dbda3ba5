"""A picture of timelines, for whatever draws one: a page (`page/`), an SVG (`svg.py`), Perfetto's form.

A simulation is one group of lanes (`foretold.py`); two schedules, or what was measured above what was
foretold, are several under one axis. All times are nanoseconds from the beginning of the axis. Names may
come from anywhere: what draws them makes them harmless.
"""

from __future__ import annotations

from collections.abc import Iterable

from plait.dsl.record import Record

KINDS = {
    "phase": "a phase",
    "collective": "a collective",
    "link": "an exchange on its way",
    "replay": "a graph's launch",
    "load": "a load or a copy",
    "record": "a record",
    "wait": "a wait",
    "host": "the host",
    "idle": "nothing",
}
"""How a bar is drawn, and what it then is; any other kind is drawn as a phase."""


class Bar(Record):
    """Something that took time on a lane: its end is after its start."""

    name: str
    kind: str
    start: int
    end: int
    on_path: bool = False
    """Whether the critical path goes through it."""
    changed: bool = False
    """Whether the other schedule of a diff has it not, or has it otherwise."""
    facts: tuple[tuple[str, str | int], ...] = ()
    """What else is known, in the order to show it: `("rows", 24)`; nanoseconds as `("slack_ns", 1500)`."""
    number: int = -1
    """By which arrows of its group know it; -1: none does."""


class Lane(Record):
    """Bars of one stream, in any order. What overlaps is drawn in rows below each other."""

    name: str
    bars: tuple[Bar, ...]
    device: bool = True
    """Whether it is a stream of a device, not a host."""


class Arrow(Record):
    """From the end of what was waited for to the start of what waited."""

    source: int
    """The number of a bar."""
    target: int
    held: bool
    """Whether the target began later for it."""


class Round(Record):
    """A stretch of the axis with a name: from the end of the round before to its own end, after that."""

    name: str
    start: int
    end: int


class Group(Record):
    """Lanes that belong together: a run, a schedule."""

    name: str
    lanes: tuple[Lane, ...]
    path: tuple[Bar, ...] = ()
    """The critical path, which tiles what it decides: a lane of its own, above the others."""
    rounds: tuple[Round, ...] = ()
    """Without overlap."""
    arrows: tuple[Arrow, ...] = ()


class Table(Record):
    name: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    """Cells below each name of the head; those that begin with a digit stand to the right."""


class Picture(Record):
    title: str
    groups: tuple[Group, ...]
    notes: tuple[str, ...] = ()
    """Sentences below the title: where the figures are from, what the answer is."""
    tables: tuple[Table, ...] = ()
    about: tuple[tuple[str, str | int], ...] = ()
    """For programs: what it was made from, such as the schedule's SHA-256."""

    @property
    def end(self) -> int:
        """Of the axis."""
        lanes = [lane.bars for group in self.groups for lane in group.lanes]
        paths = [group.path for group in self.groups]
        return max((bar.end for bars in (*lanes, *paths) for bar in bars), default=0)


def stacked(bars: Iterable[Bar]) -> list[list[Bar]]:
    """Bars as rows in which none overlaps another: each in the first where there is room for it."""
    rows: list[list[Bar]] = []
    for bar in sorted(bars, key=lambda bar: (bar.start, -bar.end)):
        free = next((row for row in rows if row[-1].end <= bar.start), None)
        if free is None:
            rows.append([bar])
        else:
            free.append(bar)
    return rows or [[]]
