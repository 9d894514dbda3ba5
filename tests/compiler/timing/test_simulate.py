"""Schedules simulated: what a person would work out by hand."""

from __future__ import annotations

from plait.compiler.timing.costs import Cost, HostCosts, Law, Profile, StreamCosts
from plait.compiler.timing.simulate import Simulation, simulate


def profile(resources: tuple[str, ...] = (), **phases) -> Profile:
    costs = tuple(
        (name, cost if isinstance(cost, Cost) else Cost(Law(cost))) for name, cost in phases.items()
    )
    return Profile("by hand", "cpu", resources, HostCosts(run=1, replay=2), StreamCosts(), costs)


def lines(found: Simulation, rank: int = 0) -> list[str]:
    """Phases in the order of the text, with when they began and ended."""
    return [
        f"{span.what.name} {span.start} {span.end}"
        for span in found.spans
        if span.stream >= 0 and span.what.kind == "phase" and span.what.rank == rank
    ]


BRANCHES = """\
spec 1
pipeline layer {
  dim bs in [1, 4]
  stream main
  stream kv
  stream q
  buffer x : i64[bs] carried
  buffer k : i64[bs]
  buffer r : i64[bs]
  buffer s : i64[bs]
  phase prefix on main { updates x }
  fork kv from prefix
  fork q from prefix
  phase latent on kv { reads x  writes k }
  phase query on q { reads x  writes r }
  phase indexer on main { reads x  writes s }
  join kv into main
  join q into main
  phase attend on main { reads k, r, s  updates x }
}
"""


def test_branches_cost_the_longest(compiled) -> None:
    """The prefix, then whichever of the three is longest; issued one nanosecond apart."""
    found = simulate(
        compiled(BRANCHES), profile(prefix=10, latent=30, query=50, indexer=20, attend=5), [0]
    )
    assert lines(found) == [
        "prefix 1 11",
        "indexer 11 31",
        "latent 11 41",
        "query 11 61",
        "attend 61 66",
    ]
    assert [found.spans[one.span].what.name for one in found.path() if one.span is not None] == [
        "prefix",
        "prefix",
        "query",
        "attend",
    ]


def test_contention_makes_it_longer(compiled) -> None:
    """Two that each need most of one resource run at the speed that it allows."""
    costs = {
        "latent": Cost(Law(30), ((0, 1000),)),
        "query": Cost(Law(50), ((0, 1000),)),
    }
    alone = profile(("memory",), prefix=10, indexer=20, attend=5, latent=30, query=50)
    shared = profile(("memory",), prefix=10, indexer=20, attend=5, **costs)
    assert simulate(compiled(BRANCHES), alone, [0]).end == 66
    assert simulate(compiled(BRANCHES), shared, [0]).end == 96


def test_rows_decide_by_bucket(compiled) -> None:
    """A law in rows gives another time at another bucket."""
    law = Cost(Law(10, 1000))
    schedule = compiled(BRANCHES)
    times = [simulate(schedule, profile(prefix=law), [n]).end for n in range(len(schedule.buckets))]
    assert times == [12, 15]


GRAPH = """\
spec 1
pipeline graphs {
  stream main
  stream side
  buffer x : i64[4] carried
  buffer y : i64[4]
  buffer out : i64[4] on host copies 2
  capture g on main rows 4 {
    phase first on main { updates x }
    fork side from first
    phase beside on side { reads x  writes y }
    phase last on main { reads x }
    join side into main
  }
  phase publish on main { reads y  writes out }
  join prev publish into host
  phase commit on host { reads prev out }
}
"""


def test_a_graph_is_one_launch_and_ends_with_its_side_streams(compiled) -> None:
    """And rounds follow each other while the host runs ahead until it waits."""
    found = simulate(
        compiled(GRAPH), profile(first=10, beside=40, last=5, publish=3, commit=7), [0, 0]
    )
    assert lines(found) == [
        "first 2 12",
        "last 12 17",
        "beside 12 52",
        "publish 52 55",
        "first 55 65",
        "last 65 70",
        "beside 65 105",
        "publish 105 108",
    ]
    assert found.round_times() == [55, 53]


COLLECTIVE = """\
spec 1
pipeline exchange {
  group ep
  stream main
  buffer x : i64[4] carried
  phase before on main { updates x }
  phase reduce on main { updates x  collective all_reduce over ep }
}
"""


def test_ranks_meet_in_collectives(compiled) -> None:
    """The early one waits in it for the late one, and both end at once."""
    found = simulate(compiled(COLLECTIVE), profile(before=10, reduce=20), [0], skews=(0, 100))
    assert lines(found, 0) == ["before 1 11", "reduce 11 131"]
    assert lines(found, 1) == ["before 101 111", "reduce 111 131"]
