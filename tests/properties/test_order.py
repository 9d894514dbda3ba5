"""The order, the races and the waits of random rounds, against the rules written out slowly."""

from __future__ import annotations

from dataclasses import replace

import networkx
from hypothesis import given, settings

from drawing.rounds import elaborated, mended, round_texts, slow_order
from plait.compiler.branches import branches
from plait.compiler.order import order, rounds_needed
from plait.compiler.races.conflicts import races
from plait.compiler.round import HOST, Close, Edge, Open, Phase, Round


@given(round_texts())
@settings(max_examples=300)
def test_clocks_say_what_the_rules_say(text: str) -> None:
    """One comparison of clocks gives reachability in the graph of the rules, for every pair."""
    round = elaborated(text)
    found = order(round, 3)
    graph = slow_order([round] * 3)
    after = {node: networkx.descendants(graph, node) for node in graph if node[2] == "run"}
    moments = [moment for by_item in found.moments for moment in by_item.values()]
    for one in moments:
        for other in moments:
            if one is not other:
                reached = (other.round, other.item, "run") in after[(one.round, one.item, "run")]
                assert other.after(one) == reached, (text, one, other)


@given(round_texts())
@settings(max_examples=300)
def test_no_race_hides_beyond_the_rounds_looked_at(text: str) -> None:
    """1 + copies rounds show every pair of accesses that eight rounds show to race."""
    round = elaborated(text)
    few = {_key(race) for race in races(order(round, rounds_needed(round)))}
    many = {_key(race) for race in races(order(round, 8))}
    assert few == many, text


def _key(race) -> tuple:
    return race.earlier.item, race.later.item, race.buffer


@given(round_texts())
@settings(max_examples=200)
def test_mends_end_every_race(text: str) -> None:
    """Adding the tight edge of the first race, again and again, ends with none, and soon."""
    round = elaborated(text)
    pairs = len(races(order(round)))
    sound = mended(round)
    assert not races(order(sound))
    assert len(sound.edges) - len(round.edges) <= pairs


@given(round_texts())
@settings(max_examples=300)
def test_waits_are_the_least_that_give_the_same_order(text: str) -> None:
    """Every wait kept is needed, and with the kept ones alone the order is that of all edges."""
    round = elaborated(text)
    found = order(round)
    kept = {edge for wait in found.waits for edge in wait.edges}
    # An edge may ask for a wait that another asks for too; those of steady state are what counts.
    items = tuple(
        item
        for place, item in enumerate(round.items)
        if not isinstance(item, Edge) or place in kept
    )
    last = found.rounds - 1
    assert _closure(round, items, last) == _closure(round, round.items, last), text
    host = {edge for wait in found.waits for edge in wait.edges if _blocks(round, wait.edge)}
    for edge in kept - host:  # what the host waits for shows in what it issues, or nowhere
        without = tuple(item for item in items if item is not round.items[edge])
        assert _closure(round, without, last) != _closure(round, round.items, last), text


def _blocks(round: Round, place: int) -> bool:
    edge = round.items[place]
    assert isinstance(edge, Edge)
    return edge.target == HOST


def _closure(round: Round, items: tuple, last: int) -> set[tuple]:
    """Ordered pairs that end in the last round, by phases and captures, host waits left out."""
    other = replace(round, items=items)
    found = order(other, last + 1)
    names = {
        place: (type(item).__name__, getattr(item, "number", getattr(item, "capture", None)))
        for place, item in enumerate(items)
        if not isinstance(item, Edge)
    }
    ends = [m for m in found.moments[last].values() if m.item in names]
    starts = [m for by_item in found.moments for m in by_item.values() if m.item in names]
    return {
        (names[a.item], last - a.round, names[b.item])
        for b in ends
        for a in starts
        if a is not b and b.after(a)
    }


def test_the_random_rounds_are_worth_looking_at() -> None:
    """Among the rounds drawn, many have races, captures, waits that count and edges that do not."""
    seen = {"racy": 0, "captures": 0, "waits": 0, "dropped": 0}

    @given(round_texts())
    @settings(max_examples=300, database=None)
    def look(text: str) -> None:
        round = elaborated(text)
        found = order(round)
        seen["racy"] += bool(races(found))
        seen["captures"] += bool(round.captures)
        seen["waits"] += bool(found.waits)
        seen["dropped"] += bool(found.dropped)

    look()
    assert all(count >= 20 for count in seen.values()), seen


def test_a_sample_round_is_as_expected() -> None:
    """The generator's texts mean what a reader would say they mean."""
    round = elaborated(
        "spec 1\npipeline p {\n stream a\n stream b\n buffer x : i64[4] carried\n"
        " phase p0 on a { writes x }\n fork b from a\n phase p1 on b { reads x }\n}\n"
    )
    found = order(round)
    assert [(w.source, w.target, w.rounds_back) for w in found.waits] == [(0, 2, 0)]
    (race,) = races(found)
    assert isinstance(race.earlier.phase, Phase)
    assert (race.earlier.phase.name, race.later.phase.name, race.distance) == ("p1", "p0", 1)


@given(round_texts())
@settings(max_examples=200)
def test_what_runs_beside_a_branch_is_what_no_path_keeps_apart(text: str) -> None:
    """Each step on another queue is beside a branch when, of some step of it, neither is reached."""
    round = elaborated(text)
    found = branches(order(round))
    span = max((branch.rounds_later for branch in found), default=0) or 1
    graph = slow_order([round] * (2 * span + 1))
    after = {node: networkx.descendants(graph, node) for node in graph if node[2] == "run"}
    steps = {}
    for place, item in enumerate(round.items):
        if isinstance(item, Open):
            end = next(n for n, i in enumerate(round.items) if i == Close(item.capture))
            capture = round.captures[item.capture]
            steps[capture.name] = (capture.stream, place, end)
        elif isinstance(item, Phase) and item.capture is None:
            steps[item.name] = (item.stream, place, place)
    for branch in found:
        expected = []
        for number in range(2 * span + 1):
            names = tuple(
                name
                for name, (stream, first, last) in steps.items()
                if round.stream_name(stream) != branch.stream
                and any(
                    (span, begin, "run") not in after[number, last, "run"]
                    and (number, first, "run") not in after[span, end, "run"]
                    for _, begin, end in map(steps.__getitem__, branch.steps)
                )
            )
            if names:
                expected.append((number - span, names))
        assert [(one.rounds_later, one.steps) for one in branch.beside] == expected, text
