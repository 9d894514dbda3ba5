"""A round in figures: what a person would work out by hand."""

from __future__ import annotations

from fractions import Fraction

import pytest

from plait.compiler.measures.account import Account
from plait.compiler.measures.communication import Exposed
from plait.compiler.measures.measures import Measures, measures
from plait.compiler.measures.window import window
from plait.compiler.timing.costs import Cost, HostCosts, Law, Profile, StreamCosts
from plait.runtime.schedule import Schedule


def profile(**times: int) -> Profile:
    """Phases by name; nothing else takes any time."""
    costs = tuple((name, Cost(Law(time))) for name, time in times.items())
    return Profile("by hand", "cpu", (), HostCosts(), StreamCosts(), costs)


def measured(schedule: Schedule, **times: int) -> Measures:
    return measures(schedule, profile(**times), len(schedule.buckets) - 1)


LAYER = """\
spec 1
pipeline layer {{
  group ep
  dim bs in [1, 4] over ep
  stream main
  stream comm : comm
  buffer x : i64[bs, 64] carried
  buffer y : i64[bs, 64]
  buffer z : i64[bs, 64]
  phase gate on main {{ updates x }}
  fork comm from gate
  phase dispatch on comm {{ reads x  writes y  collective all_to_all over ep }}
  {early}
  join comm into main
  phase experts on main {{ updates y }}
  {late}
  phase add on main {{ reads y, z  updates x }}
}}
"""
SHARED = "phase shared on main { reads x  writes z }"
BESIDE = LAYER.format(early=SHARED, late="")
SERIAL = LAYER.format(early="", late=SHARED)


@pytest.mark.parametrize("shared", [0, 30, 100, 130])
def test_independent_work_hides_an_exchange(compiled, shared: int) -> None:
    """`max(0, T_comm - T_independent)`, by all three figures; on one stream with nothing, all of it."""
    times = {"gate": 10, "dispatch": 100, "shared": shared, "experts": 20, "add": 5}
    beside = measured(compiled(BESIDE), **times)
    serial = measured(compiled(SERIAL), **times)
    bare = max(0, 100 - shared)
    assert beside.communication == serial.communication == 100
    assert (beside.round, beside.exposed.beside, beside.exposed.device) == (
        10 + max(100, shared) + 25,
        bare,
        bare,
    )
    assert beside.exposed.path == (100 if shared < 100 else 0)
    assert (serial.round, serial.exposed) == (135 + shared, Exposed(100, 100, 100))


def test_a_token_costs_a_ratio_of_sums(compiled) -> None:
    """The round over what it commits on the average, not the mean of the round over each count."""
    found = measured(compiled(SERIAL), gate=100)
    assert found.per_token(Fraction(5, 2)) == 40


def test_what_a_round_takes_beside_time(compiled) -> None:
    """Streams, records and waits of a round, and bytes of buffers: each of its own, or in the arena."""
    schedule = compiled(BESIDE)
    found = measured(schedule, gate=1)
    assert (found.bucket, found.costs) == ("bs = 4", "by hand")
    assert (found.streams, found.records, found.waits) == (2, 2, 2)
    assert (found.replays, found.rows) == (0, 0)
    apart = sum(2048 * buffer.copies for buffer in schedule.buffers if buffer.offset is None)
    assert found.memory == schedule.arena + apart == 3 * 2048


def test_a_graph_takes_its_inputs_for_every_bucket(eagle, compiled) -> None:
    """What is copied in has memory of its own in each graph; rows are those replayed."""
    with_graphs, without = (
        measured(compiled(eagle, capture=capture), target=1) for capture in (True, False)
    )
    assert (with_graphs.replays, with_graphs.rows) == (3, 8 + 24 + 24)
    assert (without.replays, without.rows) == (0, 0)
    draft, verify = 512 + 512, 512  # candidate and seq_lens; the tree
    extend = [512 + 512 * 3 * bs for bs in (1, 2, 4, 8)]  # accepted, and rows_hidden of 128 floats
    assert with_graphs.memory - without.memory == 4 * (draft + verify) + sum(extend)


BRANCHES = """\
spec 1
pipeline layer {
  stream main
  stream kv
  stream q
  buffer x : i64[4] carried
  buffer k : i64[4]
  buffer r : i64[4]
  buffer s : i64[4]
  capture layer on main rows 4 {
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
}
"""


@pytest.mark.parametrize(("latent", "query", "indexer"), [(30, 50, 20), (50, 30, 20), (20, 30, 50)])
def test_branches_cost_the_longest_and_the_others_have_slack(
    compiled, proven, latent: int, query: int, indexer: int
) -> None:
    """R11: `T_prefix + max(T_Q, T_KV, T_indexer)`; each branch may grow up to the longest."""
    times = profile(prefix=10, latent=latent, query=query, indexer=indexer, attend=5)
    found = Account(window(compiled(BRANCHES), times, 0), proven(BRANCHES))
    longest = max(latent, query, indexer)
    assert found.measures.round == 10 + longest + 5
    kv, q = found.forks
    assert (kv.started.steps, q.started.steps) == (("latent",), ("query",))
    assert (kv.work, q.work) == (latent, query)
    assert (kv.slack, q.slack) == (longest - latent, longest - query)
    assert (kv.beside, q.beside) == (
        min(latent, max(query, indexer)),
        min(query, max(latent, indexer)),
    )
    assert [one.waited for one in (kv, q)] == [
        max(query, indexer) - latent,
        max(latent, indexer) - query,
    ]
    (join,) = found.joins
    assert join.name == "attend" and {one.waited for one in join.arrivals} == {
        longest - one for one in (latent, query, indexer)
    }
    assert (join.arrivals[0].waited, join.arrivals[0].time) == (0, 10 + longest)


def test_contention_is_longer_than_the_longest(compiled) -> None:
    """R11: where two need the same cores, the round is longer than its longest branch makes it."""
    cores = {name: Cost(Law(time), ((0, 1000),)) for name, time in (("latent", 30), ("query", 50))}
    alone = (("prefix", Cost(Law(10))), ("indexer", Cost(Law(20))), ("attend", Cost(Law(5))))
    costs = (*cores.items(), *alone)
    shared = Profile("by hand", "cpu", ("cores",), HostCosts(), StreamCosts(), costs)
    assert measures(compiled(BRANCHES), shared, 0).round == 10 + 30 + 50 + 5
