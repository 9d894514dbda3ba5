"""The simulation against closed forms and against a fluid model in exact fractions."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import networkx as nx
from hypothesis import given, settings
from hypothesis import strategies as st

from oracles import trace as oracle
from oracles.fluid import fluid, pace
from plait.compiler.timing.engine import Block, Engine, Issue, Record, Span, Wait, Work
from plait.compiler.timing.path import critical_path
from plait.compiler.timing.sharing import WHOLE, speeds

times = st.integers(0, 50)


def simulated(*instructions, streams: int = 4) -> list[Span]:
    return Engine(streams, [(0, instructions)]).run()


def issued(*items, time: int = 0) -> Issue:
    return Issue(time, "issue", items)


def total(spans: list[Span]) -> int:
    return max(span.end for span in spans)


@given(st.lists(times, min_size=1, max_size=6))
def test_what_is_on_one_stream_takes_the_sum(each: list[int]) -> None:
    """One after another."""
    assert total(simulated(*(issued(Work(0, time, (), time)) for time in each))) == sum(each)


@given(times, times, times, times)
def test_branches_take_as_long_as_the_longest(prefix: int, a: int, b: int, c: int) -> None:
    """`T_prefix + max(T_Q, T_KV, T_indexer)`, and whatever joins them starts then."""
    spans = simulated(
        issued(Work(0, prefix, (), "prefix"), Record(0, (0,))),
        issued(Wait(1, (0,)), Work(1, a, (), "a"), Record(1, (1,))),
        issued(Wait(2, (0,)), Work(2, b, (), "b"), Record(2, (2,))),
        issued(Work(0, c, (), "c")),
        issued(Wait(0, (1,)), Wait(0, (2,)), Work(0, 7, (), "joined")),
    )
    assert total(spans) == prefix + max(a, b, c) + 7


@given(times, times)
def test_communication_is_exposed_by_what_nothing_hides(comm: int, independent: int) -> None:
    """`max(0, T_comm - T_independent)`."""
    spans = simulated(
        issued(Work(1, comm, (), "dispatch"), Record(1, (0,))),
        issued(Work(0, independent, (), "shared")),
        issued(Wait(0, (0,)), Work(0, 5, (), "experts")),
    )
    experts = next(span for span in spans if span.what == "experts")
    assert experts.start - independent == max(0, comm - independent)


def test_the_host_is_held_up_and_goes_on() -> None:
    """A block ends with its record, and what is issued behind it starts then."""
    spans = simulated(
        issued(Work(0, 30, (), "a"), Record(0, (0,)), time=3),
        Block((0,), 2, "block"),
        issued(Work(0, 4, (), "b"), time=1),
    )
    assert [(s.what, s.start, s.end, s.cause) for s in spans] == [
        ("issue", 0, 3, -1),
        ("a", 3, 33, 0),
        ("block", 33, 35, 1),
        ("issue", 35, 36, 2),
        ("b", 36, 40, 3),
    ]


def test_records_and_waits_take_their_streams_time() -> None:
    """A record is reached when it is over, and what is behind a wait starts when that is."""
    spans = simulated(
        issued(Work(0, 10, (), "a"), Record(0, (0,), 3, "record")),
        issued(Wait(1, (0,), 4, "wait"), Work(1, 5, (), "b")),
    )
    assert [(s.what, s.start, s.end) for s in spans] == [
        ("a", 0, 10),
        ("record", 10, 13),
        ("wait", 13, 17),
        ("b", 17, 22),
    ]


def test_a_collective_works_when_all_have_come() -> None:
    """Each rank holds its stream from when it gets there; they end at once, by the last."""
    hosts = [
        (0, [Issue(1, "issue", (Work(0, 10, (), "r0", ((0,), 2)),))]),
        (7, [Issue(1, "issue", (Work(1, 10, (), "r1", ((0,), 2)),))]),
    ]
    spans = [span for span in Engine(2, hosts).run() if span.stream >= 0]
    assert [(s.what, s.start, s.end, s.met) for s in spans] == [("r0", 1, 18, 3), ("r1", 8, 18, 3)]


shares = st.lists(st.tuples(st.integers(0, 2), st.integers(1, WHOLE)), max_size=3).map(
    lambda pairs: tuple(dict(pairs).items())
)


@settings(max_examples=300)
@given(st.lists(shares, max_size=6).map(tuple))
def test_speeds_are_the_fair_ones(running) -> None:
    """Rounded down; of all ways to share, the slowest is as fast as can be, then the next, and so on."""
    assert list(speeds(running)) == pace(running, 3)


operations = st.lists(
    st.tuples(
        st.integers(0, 3), st.integers(1, 60), shares, st.lists(st.integers(0, 30), max_size=2)
    ),
    min_size=1,
    max_size=12,
)


@settings(max_examples=1000, deadline=None)
@given(operations)
def test_contention_is_that_of_the_fluid_model(program) -> None:
    """In exact fractions, with speeds and ends rounded as the simulation says it rounds them."""
    spans = {(str(s.what), 0): (s.start, s.end) for s in simulated(*built(program, host=False))}
    costs = {str(number): (time, uses) for number, (_, time, uses, _) in enumerate(program)}
    assert spans == fluid(list(steps(program)), costs, 3)


def steps(program) -> Iterator[oracle.Step]:
    """The same on queues of the oracle, whose host is stream 0."""
    for number, (stream, _, _, after) in enumerate(program):
        queue = None, 1 + stream
        for one in after if number else ():
            yield oracle.Wait(queue, one % number)
        name = str(number)
        yield oracle.Run(queue, name, (name,), 0, oracle.NONE, oracle.NONE)
        yield oracle.Record(queue, number)


def built(program, host: bool = True) -> list:
    """`host`: whether it takes time to issue them."""
    instructions = []
    for number, (stream, time, uses, after) in enumerate(program):
        waits = [Wait(stream, (one % number,)) for one in after if number]
        items = (*waits, Work(stream, time, uses, number), Record(stream, (number,)))
        instructions.append(issued(*items, time=number % 3 if host else 0))
    return instructions


@settings(max_examples=300, deadline=None)
@given(operations)
def test_the_critical_path_tiles_the_round(program) -> None:
    """From 0 to the end without a gap, nothing of it idle, and each on it ends where the next begins."""
    spans = simulated(*built(program))
    path = critical_path(spans)
    assert path[0].start == 0 and path[-1].end == total(spans)
    assert all(one.end == two.start for one, two in pairwise(path))
    assert all(one.span is not None for one in path)


@settings(max_examples=300, deadline=None)
@given(operations)
def test_without_contention_the_end_is_the_longest_path(program) -> None:
    """As networkx finds it in the graph of all orders, the host's issue among them."""
    graph = nx.DiGraph()
    newest: dict[int, int] = {}
    for number, (stream, time, _, after) in enumerate(program):
        graph.add_edge(("issue", number - 1), ("issue", number), weight=number % 3)
        graph.add_edge(("issue", number), ("start", number), weight=0)
        graph.add_edge(("start", number), ("end", number), weight=time)
        for one in {
            *(one % number for one in after if number),
            *([newest[stream]] if stream in newest else []),
        }:
            graph.add_edge(("end", one), ("start", number), weight=0)
        newest[stream] = number
    bare = [(stream, time, (), after) for stream, time, _, after in program]
    assert total(simulated(*built(bare))) == nx.dag_longest_path_length(graph)
