"""What holds of the diff of any two schedules, over random rounds."""

from __future__ import annotations

import re

import networkx
from hypothesis import given, settings
from hypothesis import strategies as st

from drawing.rounds import elaborated, round_texts, slow_order
from drawing.running import lowered
from plait.compiler.diff.diff import diff
from plait.compiler.diff.happens import over
from plait.compiler.diff.orders import MOST_LISTED, Pair
from plait.compiler.round import Phase
from plait.runtime.schedule import Schedule
from plait.runtime.schedule_json import to_json
from plait.runtime.schedule_reader import from_json

ROUNDS = 4
RENAMED = {"p": "phase_", "x": "buffer_", "g": "graph_"}


@settings(max_examples=40)
@given(round_texts())
def test_a_schedule_does_not_differ_from_itself(text: str) -> None:
    """Nor from what its JSON gives back."""
    one, other = schedule(text), from_json(to_json(schedule(text)), "p.json")
    assert not diff(one, other)
    assert str(diff(one, other)) == "random.spec and random.spec: no difference\n"


@settings(max_examples=40)
@given(round_texts(), round_texts())
def test_swapping_the_sides_mirrors_every_row(first: str, second: str) -> None:
    """Added is removed, gained is lost, and what changed changes back."""
    there = diff(schedule(first), schedule(second))
    back = diff(schedule(second), schedule(first))
    assert {row.mirrored() for row in there.rows} == set(back.rows)
    assert len(there.rows) == len(back.rows)
    assert (there.orders.gained, there.orders.lost) == (back.orders.lost, back.orders.gained)
    if there.orders.gained + there.orders.lost <= MOST_LISTED:
        assert {mirrored(pair) for pair in there.orders.pairs} == set(back.orders.pairs)
        assert sum(pair.gained for pair in there.orders.pairs) == there.orders.gained


@settings(max_examples=40)
@given(round_texts(), st.sets(st.sampled_from(sorted(RENAMED)), min_size=1))
def test_a_name_that_changed_is_only_a_name(text: str, kinds: set[str]) -> None:
    """With phases, buffers or graphs called otherwise, nothing but names differs."""
    other = re.sub(r"\b([pxg])([0-9]+)\b", lambda found: renamed(found, kinds), text)
    found = diff(schedule(text), schedule(other))
    assert {row.change for row in found.rows} <= {"renamed"}
    assert bool(found.rows) == (other != text)
    assert not found.orders.gained and not found.orders.lost


@settings(max_examples=40)
@given(round_texts())
def test_orders_are_those_of_the_language(text: str) -> None:
    """What is over when a phase begins, as the instructions give it, against the rules as a graph."""
    round = elaborated(text)
    graph = slow_order([round] * ROUNDS)
    places = {item.name: n for n, item in enumerate(round.items) if isinstance(item, Phase)}
    bits = {name: bit for bit, name in enumerate(places)}
    made = schedule(text)
    found = over(made, made.widest, bits, ROUNDS)
    for name, place in places.items():
        past = networkx.ancestors(graph, (ROUNDS - 1, place, "run"))
        for back in range(ROUNDS):
            wanted = {one for one in places if (ROUNDS - 1 - back, places[one], "run") in past}
            assert {one for one, bit in bits.items() if found[name][back] >> bit & 1} == wanted


def schedule(text: str) -> Schedule:
    """Lowered whatever is wrong with it."""
    return lowered(elaborated(text))


def renamed(found: re.Match[str], kinds: set[str]) -> str:
    kind, number = found.groups()
    return f"{RENAMED[kind] if kind in kinds else kind}{number}"


def mirrored(pair: Pair) -> Pair:
    (a, b), (c, d) = pair.first, pair.second
    return Pair((b, a), (d, c), pair.after, pair.before)
