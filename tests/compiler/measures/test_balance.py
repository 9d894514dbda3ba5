"""What a graph is worth, and rounds without one."""

from __future__ import annotations

from plait.compiler.compile import Asked, lowered, prove
from plait.compiler.measures.balance import Balance, balances
from plait.compiler.measures.eager import without_graph
from plait.compiler.measures.measures import measures
from plait.compiler.measures.replays import replays
from plait.compiler.measures.window import window
from plait.compiler.timing.costs import Cost, HostCosts, Law, Profile, StreamCosts
from plait.dsl.span import Source

HOST = HostCosts(run=5, replay=7, load=3, record=2, wait=2)
STREAM = StreamCosts(load=4, replay=6)


def profile(host: HostCosts = HOST, row: int = 1) -> Profile:
    costs = (("*", Cost(Law(10, row * 1000), host=1)),)
    return Profile("by hand", "cpu", (), host, STREAM, costs)


def made(source: Source, costs: Profile, bs: int, **asked) -> list[Balance]:
    wanted = Asked(**asked)
    proven = prove(source, wanted)
    schedule = lowered(proven, wanted)
    found = window(schedule, costs, schedule.buckets.index(schedule.bucket_for(bs=bs)))
    return balances(found, [one.round for one in proven.orders], proven.target, {"bs": bs})


def test_the_account_of_each_graph(eagle) -> None:
    """Launches by what the host takes, padding by rows that are nobody's, preparation by load and start."""
    draft, verify, extend = made(eagle, profile(), 5)
    assert (draft.phases, draft.launches) == (2, 2 * (5 + 1) - 7 - 3)
    assert (draft.replay.live, draft.replay.rows, draft.padding) == (5, 8, 2 * 3)
    assert (verify.replay.padded, verify.padding, verify.preparation) == (9, 9, 4 + 6)
    assert draft.net == 2 - 6 - 10 and extend.net == verify.net == (6 - 10) - 9 - 10
    assert verify.memory > 0


def test_nothing_is_padded_in_a_full_bucket(eagle) -> None:
    """At a bucket's own size."""
    assert [one.padding for one in made(eagle, profile(), 8)] == [0, 0, 0]


def test_a_slow_host_gains_by_a_graph_and_a_fast_one_loses(eagle) -> None:
    """The sign is that of rounds simulated: launches where the host decides, preparation where streams do.

    Never padding: without a graph the phases have the rows of the bucket too.
    """
    slow = made(eagle, profile(HostCosts(run=900, replay=9)), 5)
    assert slow[0].gained > 0
    wide = made(eagle, profile(HostCosts(), row=100), 5)
    assert [one.gained for one in wide] == [-one.preparation for one in wide]
    assert all(one.padding for one in wide)


def test_a_round_without_a_graph_takes_what_the_eager_route_takes(eagle, compiled) -> None:
    """Taken apart as a schedule, it is as long as compiled without graphs from the start."""
    schedule, bare = compiled(eagle), compiled(eagle, capture=False)
    number, costs = len(schedule.buckets) - 1, profile()
    whole = measures(schedule, costs, number).round
    for one in range(len(schedule.captures)):
        schedule = without_graph(schedule, one)
    assert measures(schedule, costs, number).round == measures(bare, costs, number).round != whole


def test_rows_that_are_no_line_are_not_guessed() -> None:
    """A width that divides, or of two dims, has no count of live rows."""
    text = """\
spec 1
pipeline p {
  dim bs in [4, 8]
  stream a
  buffer x : i64[bs * bs] carried
  capture g on a rows bs * bs { phase go on a { updates x } }
}
"""
    round = prove(Source("p.spec", text), Asked()).widest.round
    (one,) = replays(round, {"bs": 5})
    assert (one.live, one.rows, one.padded) == (None, 64, None)
