"""Slack: how much longer something may take, in every round, before rounds take longer.

Rounds that repeat are a graph with cycles: its nodes are what one round does, and an edge that leads to
a later round counts how many. Each edge has some time to spare, between the end of its source and the
start of its target; no cycle has less than none, and one has none, which makes the round as long as it
is. The slack of a node is what the tightest cycle through it has to spare.
"""

from __future__ import annotations

from collections import defaultdict
from heapq import heappop, heappush
from typing import TypeAlias

from plait.compiler.measures.window import Window

Edges: TypeAlias = "list[list[tuple[int, int]]]"
"""Of each node, those that an edge leads to, with the time to spare."""


def slacks(found: Window) -> dict[int, int]:
    """Of every span of the round, in nanoseconds.

    Where rounds repeat only several at once, a cycle may pass through it once in each, and its share is
    a part of what there is. Every cycle passes through a node from which a later round is reached; of
    those there are few: O(those x spans log spans).
    """
    nodes, edges, passages = _quotient(found)
    number = {span: node for node, span in enumerate(nodes)}
    turned: Edges = [[] for _ in edges]
    for source, targets in enumerate(edges):
        for target, spare in targets:
            turned[target].append((source, spare))
    tightest: dict[int, int] = {}
    passed: set[int] = set()
    for passage in passages:
        most = None
        if len(tightest) == len(nodes):
            most = max(tightest.values())
        there, back = (_distances(passage, way, passed, most) for way in (turned, edges))
        around = {node: there[node] + back[node] for node in there.keys() & back.keys()}
        del around[passage]  # to stay is no cycle
        itself = [spare for target, spare in edges[passage] if target == passage]
        if least := [*around.values(), *itself]:
            around[passage] = min(least)
        for node, spare in around.items():
            tightest[node] = min(spare, tightest.get(node, spare))
        passed.add(passage)
    return {span: tightest.get(number[span], 0) // found.period for span in found.of_round}


def _quotient(found: Window) -> tuple[list[int], Edges, list[int]]:
    """The spans of a period, its edges, and the nodes that one leads from to a later period."""
    graph, spans = found.graph, found.spans
    rounds = range(found.round - found.period + 1, found.round + 1)
    nodes = [n for n, span in enumerate(spans) if span.what.round in rounds]
    names = _names(found)
    number = {names[span]: node for node, span in enumerate(nodes)}
    edges: Edges = [[] for _ in nodes]
    passages: set[int] = set()
    for node, span in enumerate(nodes):
        for one in graph.sources[span]:
            periods = -((spans[one.span].what.round - rounds[0]) // found.period)
            same = number.get(_later(names[one.span], periods * found.period))
            if same is None:
                continue
            shifted = graph.begins[span] + periods * found.time_of_period - spans[nodes[same]].end
            edges[same].append((node, max(shifted, graph.begins[span] - spans[one.span].end)))
            if periods:
                passages.add(same)
    return nodes, edges, sorted(passages)


_Name: TypeAlias = "tuple[int, tuple[int, str, int, int | None, int]]"


def _names(found: Window) -> list[_Name]:
    """Of every span its round, and what it is there: its lane, what of, and which of several of it."""
    counts: dict[tuple, int] = defaultdict(int)
    names = []
    for span in found.spans:
        doing = span.what
        what = span.stream, doing.kind, doing.number, doing.capture
        counts[doing.round, what] += 1
        names.append((doing.round, (*what, counts[doing.round, what])))
    return names


def _later(name: _Name, rounds: int) -> _Name:
    return name[0] + rounds, name[1]


def _distances(start: int, edges: Edges, without: set[int], most: int | None) -> dict[int, int]:
    """Of the nodes that are reached without some, and no further away than that."""
    found: dict[int, int] = {}
    heap = [(0, start)]
    while heap:
        distance, node = heappop(heap)
        if node in found:
            continue
        if most is not None and distance > most:
            break
        found[node] = distance
        for target, spare in edges[node]:
            if target not in found and target not in without:
                heappush(heap, (distance + spare, target))
    return found
