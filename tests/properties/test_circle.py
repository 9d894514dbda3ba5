"""Circles of graphs and rebinds, and the order without one, against the rules written out slowly."""

from __future__ import annotations

import networkx
from hypothesis import event, given, settings

from drawing.rebinds import rebound_texts
from drawing.rounds import elaborated, slow_order
from plait.compiler.order import order
from plait.compiler.races.causes import causes, circle
from plait.compiler.summary import coordinates_of, summary


@given(rebound_texts())
@settings(max_examples=400)
def test_a_circle_is_found_where_there_is_one(text: str) -> None:
    """Steps wait for each other exactly when the graph of the rules has a cycle; what is shown is one."""
    round = elaborated(text)
    found = circle(causes(round))
    sound = networkx.is_directed_acyclic_graph(slow_order([round] * 3))
    event("sound" if sound else "circle")
    assert bool(found) != sound, text
    for (cause, step), (_, before) in zip(found, [*found[1:], *found[:1]], strict=True):
        assert cause.step == before and cause in causes(round)[step]


@given(rebound_texts())
@settings(max_examples=300)
def test_clocks_know_what_comes_before_a_rebind_further_down(text: str) -> None:
    """Where nothing waits for itself, one comparison of clocks is reachability in the graph of the rules."""
    round = elaborated(text)
    graph = slow_order([round] * 3)
    if not networkx.is_directed_acyclic_graph(graph):
        order(round)  # which ends, too
        return
    after = {node: networkx.descendants(graph, node) for node in graph if node[2] == "run"}
    moments = [moment for by_item in order(round, 3).moments for moment in by_item.values()]
    for one in moments:
        for other in moments:
            if one is not other:
                reached = (other.round, other.item, "run") in after[(one.round, one.item, "run")]
                assert other.after(one) == reached, (text, one, other)


@given(rebound_texts())
@settings(max_examples=200)
def test_a_summary_says_what_clocks_say(text: str) -> None:
    """What a round leaves known on its streams is what the next round of it begins with."""
    round = elaborated(text)
    if circle(causes(round)):
        return
    found, coordinates = order(round, 3), coordinates_of([round])
    one = summary(round, coordinates)
    for earlier in found.moments[1].values():
        for later in found.moments[2].values():
            known = bool(one.left[earlier.item] & one.knows[later.item])
            assert later.after(earlier) == known, (text, earlier, later)
