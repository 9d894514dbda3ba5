"""What is measured of a round, held against the slow way on random rounds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from random import Random

import networkx
from hypothesis import given, settings
from hypothesis import strategies as st

from drawing.safe import safe_round
from plait.compiler.compile import Asked, compile_source
from plait.compiler.intervals import together
from plait.compiler.measures.communication import exchanges
from plait.compiler.measures.graph import Graph
from plait.compiler.measures.measures import measures
from plait.compiler.measures.needs import Needs
from plait.compiler.measures.slack import slacks
from plait.compiler.measures.why import Whys
from plait.compiler.measures.window import Window, window
from plait.compiler.timing.costs import Cost, HostCosts, Law, Profile, StreamCosts
from plait.compiler.timing.simulate import simulate
from plait.dsl.span import Source
from plait.runtime.schedule import HOST, Collective, Group, Schedule

SHORT = HostCosts(run=1, replay=2, load=1, record=1, wait=1, block=1)
STREAM = StreamCosts(record=1, wait=1, load=2, replay=3)


def profile(times: dict[str, int], host: HostCosts = SHORT) -> Profile:
    costs = tuple((name, Cost(Law(time))) for name, time in times.items())
    return Profile("random", "cpu", (), host, STREAM, costs)


def rounds(count: int) -> Iterator[tuple[Random, Schedule, dict[str, int]]]:
    for number in range(count):
        random = Random(number)
        schedule = compile_source(Source("p.spec", safe_round(random).text()), Asked())
        yield random, schedule, {one.name: random.randint(1, 60) for one in schedule.phases}


def _exchanging(schedule: Schedule, random: Random) -> Schedule:
    """With every third phase on a stream an exchange."""
    phases = tuple(
        replace(one, collective=Collective("all_to_all", 0))
        if one.stream != HOST and random.random() < 1 / 3
        else one
        for one in schedule.phases
    )
    return replace(schedule, phases=phases, groups=(Group("ep", None, None),))


def drawn(count: int) -> Iterator[Window]:
    for _, schedule, times in rounds(count):
        yield window(schedule, profile(times), 0)


def test_every_span_begins_when_the_last_it_waited_for_has_ended() -> None:
    """What is said to come before a span is all that it waited for: none of it ends later, one at once."""
    for found in drawn(60):
        graph = found.graph
        for number, sources in enumerate(graph.sources):
            ends = [found.spans[one.span].end for one in sources]
            assert max(ends, default=0) == found.spans[number].start


def test_ranks_that_meet_wait_for_each_other() -> None:
    """A part of a collective works when the last has come, after all that any of them waited for."""
    skews, met = (0, 7, 15), 0
    for random, schedule, times in rounds(25):
        found = simulate(_exchanging(schedule, random), profile(times), [0] * 3, skews)
        graph = Graph(found)
        for number, sources in enumerate(graph.sources):
            ends = [found.spans[one.span].end for one in sources]
            start = skews[found.spans[number].what.rank]
            assert max([start, *ends]) == graph.begins[number]
            met += found.spans[number].met != number
    assert met > 100


def test_the_order_is_that_of_a_closed_graph() -> None:
    """What clocks say comes before what is what a path leads to."""
    for found in drawn(25):
        graph = found.graph
        judge = networkx.DiGraph()
        judge.add_nodes_from(range(len(found.spans)))
        for number, sources in enumerate(graph.sources):
            judge.add_edges_from((one.span, number) for one in sources)
        closed = networkx.transitive_closure_dag(judge)
        for later in found.of_round:
            for earlier in range(len(found.spans)):
                assert graph.before(earlier, later) is closed.has_edge(earlier, later)


def test_the_path_of_the_round_tiles_it() -> None:
    """From its start to its end, to the nanosecond."""
    for found in drawn(60):
        assert (found.path[0].start, found.path[-1].end) == (found.start, found.end)
        assert all(one.end == two.start for one, two in pairwise(found.path))
        assert sum(one.end - one.start for one in found.path) == found.time


def test_what_grows_by_its_slack_costs_nothing() -> None:
    """Whatever phase it is rounds stay as long; with one nanosecond more they get longer, sooner or later."""
    seen = 0
    for random, schedule, times in rounds(12):
        found = window(schedule, profile(times), 0)
        if found.steady.period is None:
            continue
        slack = slacks(found)
        assert min(slack.values()) >= 0
        phases = [span for span in found.of_round if found.phase(found.spans[span]) is not None]
        for span in random.sample(phases, min(3, len(phases))):
            name = found.spans[span].what.name

            assert _settled(schedule, times, name, slack[span]) == found.mean
            if found.period == 1:
                assert _settled(schedule, times, name, slack[span] + 1) > found.mean
                seen += 1
    assert seen > 15


def _settled(schedule: Schedule, times: dict[str, int], name: str, extra: int) -> Fraction:
    """Nanoseconds a round with that phase longer, after so many that what is late by little has caught up."""
    grown = profile({**times, name: times[name] + extra})
    ends = simulate(schedule, grown, [0] * 160).ends
    return Fraction(ends[-1] - ends[-25], 24)


def test_what_runs_beside_an_exchange_is_in_no_order_with_it() -> None:
    """Every phase that overlaps an exchange in time counts; none that comes before it or after it does."""
    seen = 0
    for random, schedule, times in rounds(60):
        found = window(_exchanging(schedule, random), profile(times), 0)
        for one in exchanges(found):
            span = found.spans[one.span]
            over = tuple(
                number
                for number, other in enumerate(found.spans)
                if other.end > span.start and other.start < span.end and found.computes(other)
            )
            assert one.beside == over
            covered = sum(
                any(found.spans[n].start <= at < found.spans[n].end for n in over)
                for at in range(span.start, span.end)
            )
            assert one.covered == covered
            seen += bool(over)
    assert seen > 10


EXCHANGE = """\
spec 1
pipeline p {
  group ep
  stream main
  stream comm : comm
  buffer x : i64[4] carried
  buffer y : i64[4]
  buffer z : i64[4]
  phase gate on main { updates x }
  fork comm from gate
  phase dispatch on comm { reads x  writes y  collective all_to_all over ep }
  phase shared on main { reads x  writes z }
  join comm into main
  phase experts on main { reads y, z  updates x }
}
"""
nanoseconds = st.integers(1, 10**6)


@settings(max_examples=40)
@given(nanoseconds, nanoseconds, nanoseconds, nanoseconds)
def test_an_exchange_is_exposed_by_what_nothing_hides(
    gate: int, comm: int, independent: int, experts: int
) -> None:
    """`max(0, T_comm - T_independent)`, by the order and device-wide; the round by the longer of both."""
    times = {"gate": gate, "dispatch": comm, "shared": independent, "experts": experts}
    costs = tuple((name, Cost(Law(time))) for name, time in times.items())
    free = Profile("random", "cpu", (), HostCosts(), StreamCosts(), costs)
    found = measures(compile_source(Source("p.spec", EXCHANGE), Asked()), free, 0)
    bare = max(0, comm - independent)
    assert (found.exposed.beside, found.exposed.device) == (bare, bare)
    assert found.exposed.path == (comm if comm > independent else 0)
    assert found.round == gate + max(comm, independent) + experts


def test_every_moment_that_is_exposed_has_one_reason() -> None:
    """Reasons tile what nothing hides, in order, and each says so in words."""
    kinds = set()
    for random, schedule, times in rounds(60):
        found = window(_exchanging(schedule, random), profile(times), 0)
        judge = Whys(found, Needs(found))
        for one in exchanges(found):
            whys = judge.of(one)
            assert together((why.start, why.end) for why in whys) == list(one.exposed)
            assert sum(why.time for why in whys) == one.time - one.covered
            assert all(why.text for why in whys)
            kinds |= {why.kind for why in whys}
    assert kinds >= {"data", "stream", "launch"}
