"""What measured rounds took, whoever measured them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from plait.runtime.schedule import Schedule

MOST = 3600 * 10**9 // 4
"""Nanoseconds that anything may take: a profile holds up to four times as much."""


class CalibrateError(Exception):
    """A trace that no costs can be taken from, and why."""


class Ran(NamedTuple):
    """A phase, once."""

    phase: str
    """Its name without indices."""
    rows: int
    time: int
    """Nanoseconds."""
    held: bool
    """By a graph."""
    beside: frozenset[str] = frozenset()
    """Phases that ran on other streams for most of that time."""
    host: bool = False


def alike(phases: Iterable[Ran]) -> dict[tuple[str, bool, int], list[Ran]]:
    """By phase, whether a graph held it, and rows; in order of these."""
    found: dict[tuple[str, bool, int], list[Ran]] = {}
    for one in phases:
        found.setdefault((one.phase, one.held, one.rows), []).append(one)
    return dict(sorted(found.items()))


class Round(NamedTuple):
    """A round that followed another of its bucket."""

    schedule: int
    bucket: int
    time: int
    """Nanoseconds from the round before it."""
    noted: bool
    """Whether what it did was traced."""


@dataclass
class Samples:
    """Of one trace or of several. Times are nanoseconds."""

    files: list[str] = field(default_factory=list)
    schedules: list[Schedule] = field(default_factory=list)
    phases: list[Ran] = field(default_factory=list)
    rounds: list[Round] = field(default_factory=list)
    turns: list[int] = field(default_factory=list)
    """On a stream from one thing to the next, where nothing is waited for."""
    gaps: list[int] = field(default_factory=list)
    """As `turns`, within a graph."""
    edges: list[int] = field(default_factory=list)
    """Of replays: what they take beyond their phases."""
    loads: list[int] = field(default_factory=list)
    records: list[int] = field(default_factory=list)
    """From the end of a phase until its record is reached."""
    waits: list[int] = field(default_factory=list)
    """From a record until the next on a stream that waited for it begins."""
    issues: list[int] = field(default_factory=list)
    """Of the host, for an instruction."""
    notes: list[str] = field(default_factory=list)
    """What else there is to know of them."""

    def add(self, others: Iterable[Samples]) -> Samples:
        """Also what others hold."""
        for one in others:
            first = len(self.schedules)
            self.rounds += [round._replace(schedule=round.schedule + first) for round in one.rounds]
            for name in self.__dataclass_fields__:
                if name != "rounds":
                    getattr(self, name).extend(getattr(one, name))
        self.files = list(dict.fromkeys(self.files))
        return self

    @property
    def target(self) -> str:
        return self.schedules[0].target.name
