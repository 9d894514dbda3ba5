"""What several views say of one round, held against each other."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from pathlib import Path
from random import Random

import pytest

from drawing.safe import safe_round
from plait.compiler.compile import Asked, lowered, prove, read_source
from plait.compiler.diff.amounts import amounts
from plait.compiler.diff.side import side_of
from plait.compiler.measures.account import Account
from plait.compiler.measures.measures import measures
from plait.compiler.measures.window import window
from plait.compiler.timing.costs import Cost, HostCosts, Law, Profile, StreamCosts
from plait.compiler.timing.profiles import default_profile
from plait.compiler.timing.steady import steady
from plait.compiler.tune.maker import Maker
from plait.compiler.tune.move import Space
from plait.compiler.tune.price import Load
from plait.compiler.views.path import path_data
from plait.compiler.views.summary import summary_data
from plait.dsl.span import Source
from plait.runtime.schedule import Schedule

ASKED = Asked(environment={})
DRAWN = 20
EXAMPLES = ("adaptive", "eagle", "graph_vote", "tree")
"""The others take long and show no more: `plait tune` proves each in every variant."""


@pytest.mark.parametrize("example", EXAMPLES)
def test_an_example_takes_as_long_in_every_view(example: str) -> None:
    """By the costs that are assumed of its target."""
    source = read_source(Path(__file__).parents[2] / f"examples/{example}.spec")
    agree(source, lambda schedule: default_profile(schedule.target.name))


def test_random_rounds_take_as_long_in_every_view() -> None:
    """Where phases share what they need, too."""
    for number in range(DRAWN):
        random = Random(f"agree {number}")
        agree(Source("drawn.spec", safe_round(random).text()), partial(by_lot, random))


def by_lot(random: Random, schedule: Schedule) -> Profile:
    costs = tuple(
        (one.name, Cost(Law(random.randint(1, 60)), ((0, random.choice([300, 600, 1000])),)))
        for one in schedule.phases
    )
    host = HostCosts(run=random.randint(0, 9), replay=random.randint(0, 9), wait=1)
    return Profile("by lot", "cpu", ("cores",), host, StreamCosts(record=1, wait=1), costs)


def agree(source: Source, profile_of: Callable[[Schedule], Profile]) -> None:
    proven = prove(source, ASKED)
    schedule = lowered(proven, ASKED)
    profile, bucket = profile_of(schedule), schedule.buckets.index(schedule.widest)
    account = Account(window(schedule, profile, bucket), proven.orders[bucket])
    side = side_of(schedule).replace(measures=measures(schedule, profile, bucket))
    compared = amounts(side, side, None)[0]
    live = (*schedule.widest.sizes, *schedule.widest.route)
    maker = Maker(Space(ASKED), profile, Load(((live, 1),)), lambda _: Fraction(1))
    start = maker.start(source).price
    assert start is not None
    settled = steady(schedule, profile, bucket)
    said = {
        round(settled.mean if settled.period else account.found.mean),
        summary_data(account, None)["round"],
        compared.before,
        compared.after,
        start.time,
    }
    assert len(said) == 1
    tiled(account)


def tiled(account: Account) -> None:
    """The path goes from the end of one round to that of the next, and the summary has all of it."""
    told = path_data(account)
    ends = [0, *(part["end"] for part in told["path"])]
    assert [part["start"] for part in told["path"]] == ends[:-1]
    assert (
        ends[-1]
        == told["round"]
        == sum(part["time"] for part in summary_data(account, None)["path"])
    )
    if account.found.period == 1:
        assert told["round"] == account.measures.round
