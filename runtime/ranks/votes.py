"""What ranks settle by votes each round: which values, over which group, in how many collectives.

A guard is true if it is true on every rank, and a size is that of the rank that has most.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from plait.runtime.schedule import Schedule


class OutOfStep(Exception):
    """Ranks vote in different rounds."""


@dataclass(frozen=True)
class Vote:
    """Values that one collective settles."""

    group: int
    names: tuple[str, ...]
    place: str

    def wishes(self, round: int, live: Mapping[str, Any]) -> list[int]:
        """A rank's own, as numbers of which the largest of all ranks counts."""
        return [round, -round, *map(_number, (live[name] for name in self.names))]

    def outcome(self, round: int, most: list[int], live: Mapping[str, Any]) -> dict[str, Any]:
        """The values, of the largest of all ranks' numbers. Raises OutOfStep."""
        newest, oldest = most[0], -most[1]
        if newest != oldest:
            raise OutOfStep(f"ranks are in rounds {oldest} to {newest}, this one in {round}")
        pairs = zip(self.names, most[2:], strict=True)
        return {name: not value if type(live[name]) is bool else value for name, value in pairs}


def _number(value: Any) -> int:
    return int(not value) if type(value) is bool else value


def votes_of(schedule: Schedule) -> list[Vote]:
    """Those of a round, in the order of the text; those of one group in a row are one.

    Every rank takes part in all of them in every round. So none depends on what the round is, and what
    is voted on for a route that is not taken has no effect.
    """
    found: dict[str, tuple[tuple[int, ...], int]] = {}
    for vote in schedule.votes:
        if vote.group is None or schedule.groups[vote.group].size == 1:
            continue
        place = vote.place
        for number, name in enumerate(vote.names):
            # One that follows another is also seen alone, further down, where the other is not asked.
            at = (place.file, place.line, place.column, number)
            found[name] = max(found.get(name, (at, vote.group)), (at, vote.group))
    ordered = sorted(found, key=lambda name: found[name])
    places = {name: schedule.place_of(vote.place) for vote in schedule.votes for name in vote.names}
    votes = []
    for group, names in groupby(ordered, key=lambda name: found[name][1]):
        listed = tuple(names)
        votes.append(Vote(group, listed, places[listed[0]]))
    return votes
