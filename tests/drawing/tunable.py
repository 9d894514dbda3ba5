"""Small random rounds whose phases have costs, and every schedule of them that moves lead to, tried."""

from __future__ import annotations

from fractions import Fraction
from random import Random

from plait.compiler.compile import Asked
from plait.compiler.timing.costs import Cost, HostCosts, Law, Profile, StreamCosts
from plait.compiler.tune.candidate import Candidate
from plait.compiler.tune.fitted import Refused, fitted
from plait.compiler.tune.kinds import offered
from plait.compiler.tune.maker import Maker
from plait.compiler.tune.move import Space
from plait.compiler.tune.price import Load
from plait.compiler.tune.search import tuned
from plait.dsl.record import Record
from plait.dsl.span import Source

LOAD = Load((((), 1),))
SORTS = (("streams",), ("captures",), ("issue",), ("streams", "issue"), ("captures", "issue"))
"""Of moves: all at once lead to more texts than can be tried."""
FEWEST, MOST = 8, 60
"""Texts of a round that are all tried; one that has fewer or more is left out."""


def drawn(random: Random) -> tuple[Source, Space, Profile]:
    """A sound round of two or three phases on two streams, and what it costs."""
    while True:
        source = Source("random.spec", _text(random))
        kinds = (*random.choice(SORTS), "edges")
        space = Space(Asked(environment={}), streams=2, kinds=kinds)
        try:
            return fitted(source, space.asked).source, space, _profile(random)
        except Refused:
            continue


def _text(random: Random) -> str:
    buffers = [f"x{number}" for number in range(random.randint(2, 4))]
    lines = ["stream a", "stream b", *(f"buffer {name} : i64[4] carried" for name in buffers)]
    phases = []
    for number in range(random.choice([2, 3, 3])):
        written, *read = random.sample(buffers, random.choice([1, 2]))
        reads = "".join(f" reads {name}" for name in read)
        kind, stream = random.choice(["updates", "writes"]), random.choice("aab")
        phases.append(f"phase p{number} on {stream} {{{reads} {kind} {written} }}")
    return "\n".join(["spec 1", "pipeline p {", *lines, *phases, "}", ""])


def _profile(random: Random) -> Profile:
    phases = tuple(
        (
            f"p{number}",
            Cost(
                Law(random.randint(1, 40)),
                ((0, random.choice([300, 600, 1000])),),
                host=random.randint(0, 10),
            ),
        )
        for number in range(3)
    )
    host = HostCosts(
        run=random.randint(0, 9),
        record=random.randint(0, 3),
        wait=random.randint(0, 3),
        replay=random.randint(0, 20),
        load=random.randint(0, 5),
    )
    stream = StreamCosts(wait=random.randint(0, 3), replay=random.randint(0, 9))
    return Profile("by lot", "cpu", ("cores",), host, stream, phases)


def everything(source: Source, space: Space, profile: Profile) -> list[Candidate] | None:
    """Every text that moves lead to, with its price; None where there are too many."""
    maker = Maker(space, profile, LOAD, lambda schedule: Fraction(1))
    waiting = [maker.start(source)]
    while waiting:
        one = waiting.pop()
        for move in (move for kind in offered(one, maker.space) for move in kind):
            made = maker.made(one, move, all_of_them=True)
            if made is not None:
                waiting.append(made)
            if maker.counts.seen > MOST:
                return None
    return maker.priced if len(maker.priced) >= FEWEST else None


class Compared(Record):
    """A search that began at the worst there is and looked at half of it, beside all of it."""

    texts: int
    start: Fraction
    least: Fraction
    found: Fraction
    bound: Fraction

    @property
    def gap(self) -> Fraction:
        return self.found / self.least - 1


def compared(random: Random) -> Compared:
    """Of a round with so many texts that half of them are worth a search."""
    while True:
        source, space, profile = drawn(random)
        every = everything(source, space, profile)
        if every is not None:
            break
    prices = [one.price.time for one in every if one.price]
    worst = every[prices.index(max(prices))].source
    found = tuned(worst, space, profile, LOAD, budget=len(every) // 2, seed=random.randrange(99))
    assert found.best.price
    return Compared(len(every), max(prices), min(prices), found.best.price.time, found.bound.time)
