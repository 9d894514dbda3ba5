"""The search: always from the best text that still has a move to try, now and then from any other.

Texts are told apart by their one layout. What its bounds say is nowhere better than one that has a price gets
none, though it may be on the way to what is. When no text has a move left, all that the moves lead to was
tried, and the best is the best there is among it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from heapq import heappop, heappush
from itertools import zip_longest
from random import Random
from typing import Literal

from plait.compiler.timing.costs import Profile
from plait.compiler.tune.bounds import Bound
from plait.compiler.tune.candidate import Candidate, price_of
from plait.compiler.tune.kinds import offered
from plait.compiler.tune.maker import Counts, Maker, Tokens
from plait.compiler.tune.move import Move, Space, View
from plait.compiler.tune.price import Load, Objective, Price
from plait.dsl import syntax
from plait.dsl.span import Source

ELSEWHERE = 5
"""Every so many texts one is made from another by lot, so that no hollow holds the search."""
MOST_STEPS = 12
"""Of the best, up to which each is left out for a trial."""
Ended = Literal["all", "bound", "budget", "stopped"]
Watch = Callable[[Counts, Price], bool]
"""Told how far it has come, and the best so far; whether to go on."""


@dataclass(frozen=True)
class Tuned:
    objective: Objective
    start: Candidate
    best: Candidate
    front: tuple[Candidate, ...]
    """Those that none beats in time, memory and streams at once, the fastest first."""
    bound: Bound
    """That no schedule of these phases beats, whatever its streams, graphs and order."""
    counts: Counts
    ended: Ended
    """`all`: no move is left; `bound`: nothing can be faster; else what cut it short."""

    @property
    def gap(self) -> Fraction:
        """How far the best is above the bound, as a part of the bound."""
        time = price_of(self.best).time
        return max(time / self.bound.time - 1, Fraction(0)) if self.bound.time else Fraction(0)


@dataclass(frozen=True)
class _Open:
    """A text with moves that were not tried yet."""

    candidate: Candidate
    moves: Iterator[Move]


def tuned(
    source: Source,
    space: Space,
    profile: Profile,
    load: Load,
    *,
    objective: Objective = "time",
    tokens: Tokens = lambda schedule: Fraction(1),
    budget: int,
    seed: int = 0,
    watch: Watch = lambda counts, best: True,
) -> Tuned:
    """The best of so many texts, or of all. Raises SpecError for one that has errors, ValueError for a
    size that no bucket holds, Stuck, TargetError. Ctrl-C ends it with the best so far."""
    maker = Maker(space, profile, load, tokens)
    start = maker.start(source)
    if space.streams is None:
        maker.space = replace(space, streams=_declared(View(start.source, space)) + 1)
    search = _Search(maker, start, objective, seed)
    ended = search.stopped(budget, watch)
    bound = min((one.bound for one in maker.priced), key=lambda one: one.time)
    return Tuned(objective, start, search.best, _front(maker), bound, maker.counts, ended)


class _Search:
    def __init__(self, maker: Maker, start: Candidate, objective: Objective, seed: int):
        self.maker = maker
        self.start = self.best = start
        self.objective: Objective = objective
        self.seed = seed
        self.heap: list[tuple[tuple, int, _Open]] = []
        self.open(start, 0)

    def stopped(self, budget: int, watch: Watch) -> Ended:
        """Searches, and says what ended it."""
        try:
            ended = self.looked(budget, watch)
            self.shorten()
        except KeyboardInterrupt:
            return "stopped"
        return ended

    def looked(self, budget: int, watch: Watch) -> Ended:
        lots, number = Random(self.seed), 0
        while self.heap:
            if self.maker.counts.seen >= budget:
                return "budget"
            if self.is_least():
                return "bound"
            number += 1
            elsewhere = number % ELSEWHERE == 0
            _, _, one = self.heap[lots.randrange(len(self.heap)) if elsewhere else 0]
            move = next(one.moves, None)
            if move is not None:
                self.take(one.candidate, move, number)
                if not watch(self.maker.counts, price_of(self.best)):
                    return "stopped"
            elif not elsewhere:
                heappop(self.heap)
        return "all"

    def take(self, one: Candidate, move: Move, number: int) -> None:
        made = self.maker.made(one, move)
        if made is not None:
            if made.price is not None and self.rank(made) < self.rank(self.best):
                self.best = made
            self.open(made, number)

    def open(self, one: Candidate, number: int) -> None:
        heappush(self.heap, (self.rank(one), number, _Open(one, self.moves(one))))

    def rank(self, one: Candidate) -> tuple:
        """What has no price stands where it would if it were as good as its bound."""
        start = price_of(self.start)
        price = one.price or start.replace(time=one.least)
        return price.rank(self.objective, start)

    def moves(self, one: Candidate) -> Iterator[Move]:
        """Of every kind in turn, and of each in an order by lot."""
        lots = Random(f"{self.seed} {one.source.text}")
        kinds = list(offered(one, self.maker.space))
        for kind in kinds:
            lots.shuffle(kind)
        for turn in zip_longest(*kinds):
            yield from (move for move in turn if move is not None)

    def is_least(self) -> bool:
        """Whether no schedule can be faster, to the nanosecond that times are rounded to."""
        fixed = (
            self.objective == "time"
            and not self.maker.space.vary
            and not self.maker.space.histogram
        )
        return fixed and price_of(self.best).time <= round(self.best.bound.time)

    # Steps

    def shorten(self) -> None:
        """Leaves out what the best can do without, so that every step of it counts."""
        place = 0
        while place < len(self.best.steps) <= MOST_STEPS:
            steps = [step.move for step in self.best.steps]
            shorter = self.followed(steps[:place] + steps[place + 1 :])
            if shorter is not None and shorter.price and self.rank(shorter) <= self.rank(self.best):
                self.best = shorter
            else:
                place += 1

    def followed(self, steps: list[str]) -> Candidate | None:
        """What those moves lead to, one after another."""
        one: Candidate | None = self.start
        for what in steps:
            move = next((move for move in self.moves(one) if move.what == what), None)
            one = move and self.maker.again(one, move)
            if one is None:
                return None
        return one


def _declared(view: View) -> int:
    return sum(isinstance(one, syntax.Stream) for one in view.pipeline.body)


def _front(maker: Maker) -> tuple[Candidate, ...]:
    """One for each triple of figures, that of the fewest steps."""
    by_figures: dict[tuple, Candidate] = {}
    for one in sorted(maker.priced, key=lambda one: len(one.steps)):
        by_figures.setdefault(price_of(one).figures, one)
    all_of_them = list(by_figures.values())
    left = [
        one
        for one in all_of_them
        if not any(price_of(b).as_good_as(price_of(one)) for b in all_of_them if b is not one)
    ]
    return tuple(sorted(left, key=lambda one: price_of(one).figures))
