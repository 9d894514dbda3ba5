"""Everything a rank can do in a round: each route, busy or idle.

A guard that is not asked on a route has no answer there; it stands for both, so that behaviours are all
combinations of what can be settled, and two of them may differ in one value alone. There are at most
twice as many as routes could be.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass
from itertools import product

from plait.compiler.ranks.groups import IDLE, agreed, idle_together
from plait.compiler.ranks.sequences import Communicator, Exchange, exchanges
from plait.compiler.round import Choice, Round
from plait.dsl.values import written


@dataclass(frozen=True, eq=False)
class Behaviour:
    order: int
    """The number of its route."""
    round: Round
    idle: bool
    answers: tuple[Hashable, ...]
    """One for every choice, and last whether the rank is idle."""
    signatures: dict[Communicator, tuple[int, ...]]
    """Each communicator's sequence: equal exchanges have equal numbers, in all behaviours."""
    issued: tuple[Communicator, ...]
    """Whose exchange is next, in the order of issue."""


@dataclass(frozen=True, eq=False)
class Behaviours:
    all: list[Behaviour]
    choices: tuple[Choice, ...]
    """What they differ in, but for being idle, which stands behind them."""
    communicators: tuple[Communicator, ...]

    def agreed(self, communicator: Communicator) -> list[bool]:
        """For each of the answers, whether all ranks of a communicator give the same."""
        groups, group = self.all[0].round.groups, communicator[0]
        found = [agreed(groups, choice, group) for choice in self.choices]
        return [*found, idle_together(groups, self.choices, group)]

    def name(self, place: int) -> str:
        """Of an answer."""
        return self.choices[place].name if place < len(self.choices) else IDLE

    def said(self, place: int, answer: Hashable) -> str:
        """`seed_ready = true`."""
        return f"{self.name(place)} = {written(answer)}"  # type: ignore[arg-type]


def behaviours(rounds: Iterable[Round]) -> Behaviours | None:
    """Those of every route; None where nothing is exchanged."""
    numbers: dict[Exchange, int] = {}
    found: list[Behaviour] = []
    seen: dict[Communicator, None] = {}
    choices: tuple[Choice, ...] = ()
    listings = [(round, list(exchanges(round))) for round in rounds]
    skipping = any(one.skipped for _, listed in listings for _, one in listed)
    idles = (False, True) if skipping else (False,)
    for number, (round, listed) in enumerate(listings):
        choices = choices or round.choices
        answers = list(_answers(round.choices))
        for idle in idles:
            taken = [(of, one) for of, one in listed if not (idle and one.skipped)]
            sequences: dict[Communicator, list[int]] = {}
            for of, one in taken:
                sequences.setdefault(of, []).append(numbers.setdefault(one, len(numbers)))
                seen.setdefault(of)
            signatures = {of: tuple(sequence) for of, sequence in sequences.items()}
            issued = tuple(of for of, _ in taken)
            for given in answers:
                one = Behaviour(number, round, idle, (*given, idle), signatures, issued)
                found.append(one)
    return Behaviours(found, choices, tuple(seen)) if seen else None


def differences(found: Behaviours, one: Behaviour, other: Behaviour) -> tuple[str, str]:
    """What each of two behaviours has that the other has not: `seed_ready = true`, `busy`."""
    texts = []
    for ours, theirs in ((one, other), (other, one)):
        named = [
            found.said(place, ours.answers[place])
            for place in range(len(found.choices))
            if ours.answers[place] != theirs.answers[place]
        ]
        if ours.idle != theirs.idle:
            named.append(IDLE if ours.idle else "busy")
        texts.append(", ".join(named))
    return texts[0], texts[1]


def _answers(choices: tuple[Choice, ...]) -> Iterator[tuple[Hashable, ...]]:
    """One value for every choice; a guard that is not asked has both."""
    return product(*((_plain(c.value),) if c.asked else (True, False) for c in choices))


def _plain(value: object) -> Hashable:
    return tuple(map(_plain, value)) if isinstance(value, list) else value  # type: ignore[return-value]
