"""The search for better schedules: never worse, unsound or other work, and as good as all there is."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import product
from random import Random

import networkx
from hypothesis import given
from hypothesis import strategies as st

from drawing.safe import safe_round
from drawing.tunable import compared
from plait.compiler.compile import Asked, compile_source, every_route, prove
from plait.compiler.measures.measures import measures
from plait.compiler.races.conflicts import regions_meet, vouched
from plait.compiler.round import Round
from plait.compiler.timing.costs import Cost, HostCosts, Law, Profile, StreamCosts
from plait.compiler.tune.bounds import longest_circle
from plait.compiler.tune.meaning import meaning, meanings
from plait.compiler.tune.move import Space
from plait.compiler.tune.price import Load
from plait.compiler.tune.search import tuned
from plait.dsl.span import Source

ROUNDS, SOUND = 8, 16
ASKED = Asked(environment={})


def test_half_of_all_texts_hold_the_best_of_all() -> None:
    """In at least 95 % of random small rounds, and no bound is above what there is."""
    found = [compared(Random(f"tune {number}")) for number in range(ROUNDS)]
    assert all(one.bound <= one.least + 1 and one.least <= one.found <= one.start for one in found)
    assert any(one.least < one.start for one in found)
    missed = [one for one in found if one.gap]
    assert len(missed) * 20 <= len(found), missed


def test_two_rounds_mean_the_same_where_all_that_meet_do_so_in_one_order() -> None:
    """By every two phases that meet, on drawn rounds with phases that have changed places."""
    same = 0
    for number in range(24):
        random = Random(f"levels {number}")
        round = prove(Source("drawn.spec", safe_round(random).text()), ASKED).orders[0].round
        phases, at = list(round.phases), random.randrange(len(round.phases))
        phases.insert(max(at - 1, 0), phases.pop(at))
        other = replace(round, phases=phases)
        alike = meeting(round) == meeting(other)
        assert (meaning(round).levels == meaning(other).levels) is alike
        same += alike
    assert 0 < same < 24


def meeting(round: Round) -> set[tuple[str, str, int]]:
    """Every two phases that meet, in their order, and in which buffer."""
    found = set()
    for place, later in enumerate(round.phases):
        for earlier in round.phases[:place]:
            for a, b in product(earlier.accesses, later.accesses):
                copies = round.buffers[a.buffer].copies
                if a.buffer != b.buffer or (a.rounds_back - b.rounds_back) % copies:
                    continue
                parts = (a.buffer, a.region), (b.buffer, b.region)
                meets = regions_meet(a.region, b.region) and not vouched(round, *parts)
                if meets and (a.writes or b.writes):
                    found.add((earlier.name, later.name, a.buffer))
    return found


def test_what_is_found_is_sound_no_worse_and_the_same_work() -> None:
    """Whatever the round has: graphs, launches, guards, the host, copies."""
    found = [improved(Random(f"sound {number}")) for number in range(SOUND)]
    assert any(found)


def improved(random: Random) -> bool:
    source = Source("random.spec", safe_round(random).text())
    first = compile_source(source, ASKED)
    names = [phase.name for phase in first.phases]
    costs = tuple((name, Cost(Law(random.randint(1, 60)))) for name in names)
    host = HostCosts(run=5, replay=random.randint(0, 30), wait=2, record=2)
    profile = Profile("by lot", "cpu", (), host, StreamCosts(), costs)
    bucket = first.widest
    load = Load(((tuple({**dict(bucket.sizes), **dict(bucket.route)}.items()), 1),))
    found = tuned(source, Space(ASKED), profile, load, budget=5)
    best = compile_source(found.best.source, ASKED)  # proven, from the text alone
    time, start = (
        measures(one, profile, one.buckets.index(one.widest)).round for one in (best, first)
    )
    assert found.best.price and found.best.price.time == time <= start
    assert means(found.best.source) == means(source)
    return time < start


def means(source: Source) -> list[dict]:
    found = []
    for orders, errors in every_route(source, ASKED):
        assert not errors
        found.append(meanings(order.round for order in orders))
    return found


@st.composite
def circles(draw: st.DrawFn) -> tuple[list[int], list[tuple[int, int, int]]]:
    """Phases with times, each followed by itself a round later; no need points back within a round."""
    times = draw(st.lists(st.integers(1, 30), min_size=1, max_size=5))
    edges = [(one, one, 1) for one in range(len(times))]
    for one in range(len(times)):
        for other in range(len(times)):
            apart = draw(st.sampled_from([None, None, 0, 1, 2]))
            if one != other and apart is not None and (apart or one < other):
                edges.append((one, other, apart))
    return times, edges


@given(circles())
def test_the_longest_circle_is_that_of_all_circles(
    drawn: tuple[list[int], list[tuple[int, int, int]]],
) -> None:
    """By listing them."""
    times, edges = drawn
    apart = {(one, other): rounds for one, other, rounds in edges}
    ratios = []
    for circle in networkx.simple_cycles(networkx.DiGraph(list(apart))):
        pairs = zip(circle, [*circle[1:], circle[0]], strict=True)
        rounds = sum(apart[pair] for pair in pairs)
        ratios.append(Fraction(sum(times[one] for one in circle), rounds))
    ratio, found = longest_circle(times, edges)
    assert ratio == max(ratios)
    assert sum(times[one] for one in found) % ratio == 0 or len(found) > 1
