"""Candidates made of moves: each is proven, then does the same work, then is priced, in this order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction

from plait.compiler.compile import Proven, lowered, prove
from plait.compiler.timing.costs import Profile
from plait.compiler.timing.engine import Stuck
from plait.compiler.tune.bounds import Bound, own, relaxed
from plait.compiler.tune.candidate import Candidate, Step
from plait.compiler.tune.fitted import Fitted, Refused, Worthless, fitted, laid_out, variants
from plait.compiler.tune.meaning import Meaning, meanings
from plait.compiler.tune.move import Move, Space
from plait.compiler.tune.price import Load, Price, at_least, mean, priced
from plait.dsl.span import Source
from plait.runtime.schedule import Schedule

Tokens = Callable[[Schedule], Fraction]
"""How many a round of a schedule commits."""
NO_BUCKET, STUCK = "no bucket", "stuck"
"""Why a sound text is refused, beside the codes of findings."""


@dataclass
class Counts:
    seen: int = 0
    """Texts that moves led to, each once."""
    refused: dict[str, int] = field(default_factory=dict)
    """Those that are not sound whatever edges they are given, by code."""
    other_work: int = 0
    """Those that would compute something else."""
    pruned: int = 0
    """Those that are surely no better than one that has a price, in time, memory and streams."""
    priced: int = 0

    def refuse(self, why: str) -> None:
        self.refused[why] = self.refused.get(why, 0) + 1

    @property
    def unsound(self) -> int:
        return sum(self.refused.values())


class _OtherWork(Exception):
    """A text that would compute something else."""


class Maker:
    def __init__(self, space: Space, profile: Profile, load: Load, tokens: Tokens):
        self.space = space
        self.profile = profile
        self.load = load
        self.tokens = tokens
        self.counts = Counts()
        self.known: dict[str, Candidate | None] = {}
        """By text as it was before it was given edges, and as it is; None: it was refused."""
        self.priced: list[Candidate] = []

    def start(self, source: Source) -> Candidate:
        """Raises SpecError for a text that has errors, ValueError and Stuck as `priced`."""
        for variant in variants(source, self.space.asked):
            prove(source, replace(self.space.asked, variant=variant))
        fit = fitted(source, self.space.asked)
        schedule = lowered(fit.proven[0], self.space.asked)
        bound, least = self.bounds(schedule, fit.proven[0])
        price = priced(schedule, self.profile, self.load, self.tokens(schedule))
        found = self.candidate(fit, (), bound, least, tuple(map(_meanings, fit.proven)), price)
        self.known[fit.source.text] = found
        return found

    def made(self, one: Candidate, move: Move, all_of_them: bool = False) -> Candidate | None:
        """What a move makes of a text; None where that was seen before, or is not to be had.

        It gets no price where something that has one is surely as good, or does if all are to have one.
        """
        text = _text(one, move)
        if text is None or text.text in self.known:
            return None
        self.counts.seen += 1
        self.known[text.text] = found = self.tried(one, move, text, all_of_them)
        if found is None or (found.source.text != text.text and found.source.text in self.known):
            return None
        self.known[found.source.text] = found
        return found

    def again(self, one: Candidate, move: Move) -> Candidate | None:
        """What a move makes of a text, seen before or not."""
        made = self.made(one, move, all_of_them=True)
        if made is None:
            text = _text(one, move)
            made = text and self.known.get(text.text)
            made = made and self.known.get(made.source.text)
        if made is None or not made.steps:
            return made
        last = made.steps[-1].replace(move=move.what, price=made.price)
        return replace(made, steps=(*one.steps, last))

    def tried(
        self, one: Candidate, move: Move, text: Source, all_of_them: bool
    ) -> Candidate | None:
        found: dict[str, tuple[Schedule, Bound, Fraction]] = {}

        def worth(source: Source, proven: Proven) -> bool:
            if not move.other_work and _differ(_meanings(proven), one.meanings[0]):
                raise _OtherWork
            schedule = lowered(proven, self.space.asked)
            bound, least = self.bounds(schedule, proven)
            found[source.text] = schedule, bound, least
            if move.other_work or all_of_them:
                return True
            hoped = at_least(schedule, least, self.load, self.tokens(schedule))
            return not any(other.price.as_good_as(hoped) for other in self.priced if other.price)

        try:
            fit = fitted(text, self.space.asked, one.noted, worth)
            whole = tuple(map(_meanings, fit.proven))
            if not move.other_work and any(map(_differ, whole, one.meanings)):
                raise _OtherWork
            schedule, bound, least = found[fit.source.text]
            price = priced(schedule, self.profile, self.load, self.tokens(schedule))
        except Worthless as less:
            self.counts.pruned += 1
            _, bound, least = found[less.source.text]
            step = Step(move.what)
            return replace(
                one, source=less.source, steps=(*one.steps, step), least=least, spare=(), price=None
            )
        except _OtherWork:
            self.counts.other_work += 1
        except (Refused, ValueError, Stuck) as why:
            kinds = {ValueError: NO_BUCKET, Stuck: STUCK}
            self.counts.refuse(kinds.get(type(why), str(why)))
        else:
            step = Step(move.what, fit.added, fit.dropped, price)
            self.counts.priced += 1
            return self.candidate(fit, (*one.steps, step), bound, least, whole, price)
        return None

    def candidate(
        self,
        fit: Fitted,
        steps: tuple[Step, ...],
        bound: Bound,
        least: Fraction,
        means: tuple[dict[str, Meaning], ...],
        price: Price,
    ) -> Candidate:
        spare = tuple(Move(said, text) for said, text in fit.spare)
        made = Candidate(fit.source, steps, bound, least, means, fit.noted, spare, price)
        self.priced.append(made)
        return made

    def bounds(self, schedule: Schedule, proven: Proven) -> tuple[Bound, Fraction]:
        """Over all buckets that serve the load: of all such schedules, and of this one."""
        buckets = self.load.buckets(schedule)
        wide = {
            number: relaxed(schedule, self.profile, number, proven.orders[number].round)
            for number in buckets
        }
        own_time = mean(buckets, lambda number: own(schedule, self.profile, number).time)
        time = mean(buckets, lambda number: wide[number].time)
        most = max(buckets, key=lambda number: (buckets[number], number))
        return Bound(time, wide[most].what), max(time, own_time)


def _text(one: Candidate, move: Move) -> Source | None:
    """Laid out; None: a move that can be written nowhere in such a text."""
    try:
        return laid_out(Source(one.source.name, move.text, one.source.folder))
    except Refused:
        return None


def _meanings(proven: Proven) -> dict[str, Meaning]:
    return meanings(order.round for order in proven.orders)


def _differ(one: dict[str, Meaning], other: dict[str, Meaning]) -> bool:
    """On a route that both have."""
    return any(other[answers] != found for answers, found in one.items() if answers in other)
