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
    a part of what there is. O(spans log spans) for the tightest cycles through one that has nothing to
    spare, and for each span what is nearer to it than that.
    """
    nodes, edges = _quotient(found)
    number = {span: node for node, span in enumerate(nodes)}
    ends = max(found.of_round, key=lambda one: (found.spans[one].end, one))
    tight = _tight(number[ends], edges)
    turned: Edges = [[] for _ in edges]
    for source, targets in enumerate(edges):
        for target, spare in targets:
            turned[target].append((source, spare))
    there, back = (_distances(tight, way) for way in (turned, edges))
    made = {}
    for span in found.of_round:
        node = number[span]
        most = there.get(node), back.get(node)
        bound = None if None in most else sum(one or 0 for one in most)
        made[span] = _tightest(node, edges, tight, bound) // found.period
    return made


def _quotient(found: Window) -> tuple[list[int], Edges]:
    """The spans of a period, and its edges."""
    graph, spans = found.graph, found.spans
    rounds = range(found.round - found.period + 1, found.round + 1)
    nodes = [n for n, span in enumerate(spans) if span.what.round in rounds]
    names = _names(found)
    number = {names[span]: node for node, span in enumerate(nodes)}
    edges: Edges = [[] for _ in nodes]
    for node, span in enumerate(nodes):
        for one in graph.sources[span]:
            periods = -((spans[one.span].what.round - rounds[0]) // found.period)
            same = number.get(_later(names[one.span], periods * found.period))
            if same is None:
                continue
            shifted = graph.begins[span] + periods * found.time_of_period - spans[nodes[same]].end
            edges[same].append((node, max(shifted, graph.begins[span] - spans[one.span].end)))
    return nodes, edges


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


def _tight(last: int, edges: Edges) -> int:
    """A node of a cycle with nothing to spare, which the one that ends the round came after."""
    before: list[tuple[int, int] | None] = [None] * len(edges)
    for source, targets in enumerate(edges):
        for target, spare in targets:
            known = before[target]
            if known is None or spare < known[0]:
                before[target] = spare, source
    node = last
    seen: set[int] = set()
    while node not in seen and before[node] is not None:
        seen.add(node)
        node = before[node][1]  # type: ignore[index]
    return node


def _distances(start: int, edges: Edges) -> dict[int, int]:
    found: dict[int, int] = {}
    heap = [(0, start)]
    while heap:
        distance, node = heappop(heap)
        if node in found:
            continue
        found[node] = distance
        for target, spare in edges[node]:
            if target not in found:
                heappush(heap, (distance + spare, target))
    return found


def _tightest(start: int, edges: Edges, tight: int, bound: int | None) -> int:
    """What the tightest cycle through a node has to spare: that bound, through `tight`, or less."""
    if bound == 0 or start == tight:
        return bound or 0
    seen: set[int] = set()
    heap = [(spare, target) for target, spare in edges[start]]
    heap.sort()
    while heap:
        distance, node = heappop(heap)
        if bound is not None and distance >= bound:
            break
        if node == start:
            return distance
        if node in seen or node == tight:
            continue
        seen.add(node)
        for target, spare in edges[node]:
            heappush(heap, (distance + spare, target))
    return bound or 0
