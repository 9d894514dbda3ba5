"""Orders gained and lost: pairs of phases one of which is over when the other begins, on one side only.

Every phase has, for each number of rounds back, the set of phases that are over when it begins, as the bits
of a number. Where two sides differ is found by one exclusive or a phase; so time grows with the phases, and
with their square only at 64 bits a step. Sets are made for so many phases at once that memory stays bounded.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from plait.compiler.diff.happens import over
from plait.compiler.diff.names import Thing
from plait.compiler.measures.measures import instructions
from plait.dsl.record import Record
from plait.runtime.schedule import Bucket, Schedule

MOST_ROUNDS = 4
"""That an order is looked for over."""
MOST_LISTED = 100
AT_ONCE = 4096
"""Phases whose sets are made together."""


class Pair(Record):
    """Two phases, each by the names of both sides, and from how many rounds later on the second one waits."""

    first: tuple[str, str]
    second: tuple[str, str]
    before: int | None
    """None: the first side never orders them so."""
    after: int | None

    @property
    def gained(self) -> bool:
        return self.before is None or (self.after is not None and self.after < self.before)

    @property
    def same_round(self) -> bool:
        """Whether it is about phases of one round."""
        return 0 in (self.before, self.after)


class Orders(Record):
    pairs: tuple[Pair, ...]
    """Those of one round first; never more than `MOST_LISTED`."""
    gained: int
    lost: int


def orders(
    before: tuple[Schedule, Bucket], after: tuple[Schedule, Bucket], names: Mapping[Thing, str]
) -> Orders:
    """Of the phases that both have at a bucket."""
    places = [_places(*side) for side in (before, after)]
    both = [
        (name, names["phase", name])
        for name in places[0]
        if names.get(("phase", name)) in places[1]
    ]

    def place(pair: tuple[str, str]) -> tuple[int, ...]:
        return tuple(sorted((places[0][pair[0]], places[1][pair[1]])))

    both.sort(key=lambda pair: (place(pair), min(pair)))
    rounds = 1 + min(max(_back(*before), _back(*after)) + 1, MOST_ROUNDS - 1)
    pairs: list[Pair] = []
    gained = lost = 0
    for start in range(0, len(both), AT_ONCE):
        some = both[start : start + AT_ONCE]
        found = _Block(before, after, both, some, rounds)
        pairs += found.pairs
        gained += found.gained
        lost += found.lost
    ranks = {pair: number for number, pair in enumerate(both)}
    pairs.sort(key=lambda one: (not one.same_round, ranks[one.second], ranks[one.first]))
    return Orders(tuple(pairs[:MOST_LISTED]), gained, lost)


class _Block:
    """The pairs whose first phase is one of some."""

    def __init__(
        self,
        before: tuple[Schedule, Bucket],
        after: tuple[Schedule, Bucket],
        both: Sequence[tuple[str, str]],
        some: Sequence[tuple[str, str]],
        rounds: int,
    ):
        self.some = some
        self.rounds = rounds
        self.near: list[Pair] = []
        self.far: list[Pair] = []
        self.gained = self.lost = 0
        first = over(*before, {pair[0]: bit for bit, pair in enumerate(some)}, rounds)
        second = over(*after, {pair[1]: bit for bit, pair in enumerate(some)}, rounds)
        for pair in both:
            self.held(pair, first[pair[0]], second[pair[1]])

    @property
    def pairs(self) -> list[Pair]:
        return self.near + self.far

    def held(self, second: tuple[str, str], before: list[int], after: list[int]) -> None:
        """Counts what differs in front of one phase, and keeps as much of it as may be listed."""
        differ = gains = losses = 0
        for one, other in zip(before, after, strict=True):
            # Sets only grow from one number of rounds to the next, so that no pair is both.
            gains |= other & ~one
            losses |= one & ~other
            differ |= one ^ other
        self.gained += gains.bit_count()
        self.lost += losses.bit_count()
        near = (before[0] | after[0]) & differ
        self.keep(self.near, near, second, before, after)
        self.keep(self.far, differ & ~near, second, before, after)

    def keep(
        self,
        kept: list[Pair],
        bits: int,
        second: tuple[str, str],
        before: list[int],
        after: list[int],
    ) -> None:
        while bits and len(kept) < MOST_LISTED:
            bit = (bits & -bits).bit_length() - 1
            bits &= bits - 1
            kept.append(Pair(self.some[bit], second, _since(before, bit), _since(after, bit)))


def _since(sets: list[int], bit: int) -> int | None:
    return next((back for back, one in enumerate(sets) if one >> bit & 1), None)


def _places(schedule: Schedule, bucket: Bucket) -> dict[str, int]:
    """The phases of a round in issue order, by name."""
    return {name: number for number, name in enumerate(over(schedule, bucket, {}, 1))}


def _back(schedule: Schedule, bucket: Bucket) -> int:
    """How many rounds a wait reaches back at most."""
    return max((one.rounds_back for one in instructions(schedule, bucket)), default=0)
