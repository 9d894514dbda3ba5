"""Whether ranks that exchange the same can wait for each other in a ring.

A collective ends only when all its ranks have started it, so the n-th of a communicator is one node for
all of them, and each rank's own order draws edges between nodes. Ranks hang just when that graph has a
cycle. Here nobody lists ranks: the graph is the union over behaviours, each node with the answers that
its ranks agree on. Without a cycle no layout hangs, as a cycle of any layout would be one here; with a
cycle, ranks that could meet in all of it are looked for. Where text order alone has no cycle, as in
nearly all texts, no other order is looked at. Work: behaviours x exchanges x streams.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise, product
from typing import TypeAlias, TypeVar

from plait.compiler.order import Order
from plait.compiler.ranks.behaviours import Behaviour, Behaviours
from plait.compiler.ranks.sequences import Communicator, exchanges

Node: TypeAlias = tuple[Communicator, tuple[Hashable, ...], int]
"""The n-th exchange, from 0, of ranks that give these agreed answers."""
N = TypeVar("N", bound=Hashable)
MOST_TRIED = 4096
"""Ways to have ranks around a cycle that are looked at."""
MOST_STARTS = 64
"""Nodes of a cycle from which a shorter one is looked for."""


@dataclass(frozen=True, eq=False)
class Ring:
    """A cycle of waits, and the rank that brings each."""

    nodes: tuple[Node, ...]
    ranks: tuple[Behaviour, ...]
    """Of each node, whose order has the next one after it."""
    meets: bool
    """Whether these ranks can be at work in one round."""


def ring(found: Behaviours, orders: Sequence[Order]) -> Ring | None:
    """A cycle of communicators, where there is one."""
    texts = {one.issued for one in found.all}
    if not cycle(_joined(_chain(_counted(issued)) for issued in texts)):
        return None
    keys = {of: found.agreed(of) for of in found.communicators}
    bringing: dict[tuple[Node, Node], dict[tuple, Behaviour]] = {}
    pairs_of: dict[tuple[int, bool], list] = {}
    for one in found.all:
        pairs = pairs_of.get((one.order, one.idle))
        if pairs is None:
            pairs = pairs_of[one.order, one.idle] = before(orders[one.order], one.idle)
        named = {of: _key(one, agreed) for of, agreed in keys.items()}
        for (of, number), (other, its) in pairs:
            edge = ((of, named[of], number), (other, named[other], its))
            bringing.setdefault(edge, {}).setdefault(tuple(named.values()), one)
    graph = _joined([list(bringing)])
    nodes = cycle(graph)
    if not nodes:
        return None
    edges = list(pairwise([*nodes, nodes[0]]))
    choices = [list(bringing[edge].values()) for edge in edges]
    for ranks in islice(product(*choices), MOST_TRIED):
        if _meet(nodes, ranks, keys):
            return Ring(nodes, ranks, True)
    return Ring(nodes, tuple(choice[0] for choice in choices), False)


def before(
    order: Order, idle: bool
) -> list[tuple[tuple[Communicator, int], tuple[Communicator, int]]]:
    """Which exchanges of a round a rank starts only after which: of each queue the newest that is over."""
    counts: dict[Communicator, int] = {}
    queues: dict[int, tuple[list[int], list[tuple[Communicator, int]]]] = {}
    found = []
    for of, one in exchanges(order.round):
        if idle and one.skipped:
            continue
        node = (of, counts.get(of, 0))
        counts[of] = node[1] + 1
        moment = order.at(0, one.place)
        for coordinate, (indices, nodes) in queues.items():
            newest = bisect_right(indices, moment.known[coordinate])
            if newest:
                found.append((nodes[newest - 1], node))
        indices, nodes = queues.setdefault(moment.coordinate, ([], []))
        indices.append(moment.index)
        nodes.append(node)
    return found


def cycle(graph: Mapping[N, Iterable[N]]) -> tuple[N, ...]:
    """A short cycle of a graph, each node before its next; empty where there is none."""
    left = _left(graph)
    if not left:
        return ()
    start = next(iter(left))
    seen: dict[N, None] = {}
    while start not in seen:  # whatever is left has a next one that is left
        seen[start] = None
        start = next(node for node in graph[start] if node in left)
    walked = list(seen)
    shortest = tuple(walked[walked.index(start) :])
    for node in shortest[:MOST_STARTS]:
        back = _back_to(graph, left, node)
        if len(back) < len(shortest):
            shortest = back
    return shortest


def _left(graph: Mapping[N, Iterable[N]]) -> set[N]:
    """What leads on for ever: taking away whatever has no next one leaves it."""
    nexts = {node: len(set(after)) for node, after in graph.items()}
    befores: dict[N, list[N]] = {}
    for node, after in graph.items():
        for one in set(after):
            nexts.setdefault(one, 0)
            befores.setdefault(one, []).append(node)
    ends = [node for node, count in nexts.items() if not count]
    for node in ends:
        for one in befores.get(node, ()):
            nexts[one] -= 1
            if not nexts[one]:
                ends.append(one)
    return set(nexts) - set(ends)


def _back_to(graph: Mapping[N, Iterable[N]], left: set[N], start: N) -> tuple[N, ...]:
    """The shortest way from a node back to it, within a cycle."""
    came: dict[N, N] = {}
    reached = [start]
    for node in reached:
        for one in graph[node]:
            if one == start:
                way = [node]
                while way[-1] != start:
                    way.append(came[way[-1]])
                return tuple(reversed(way))
            if one in left and one not in came:
                came[one] = node
                reached.append(one)
    raise AssertionError(start)


def _joined(edges: Iterable[Iterable[tuple[N, N]]]) -> dict[N, dict[N, None]]:
    graph: dict[N, dict[N, None]] = {}
    for some in edges:
        for one, other in some:
            graph.setdefault(one, {})[other] = None
    return graph


def _counted(issued: tuple[Communicator, ...]) -> list[tuple[Communicator, int]]:
    counts: dict[Communicator, int] = {}
    found = []
    for of in issued:
        found.append((of, counts.get(of, 0)))
        counts[of] = found[-1][1] + 1
    return found


def _chain(nodes: list[N]) -> Iterable[tuple[N, N]]:
    return pairwise(nodes)


def _key(one: Behaviour, agreed: list[bool]) -> tuple[Hashable, ...]:
    return tuple(answer for answer, same in zip(one.answers, agreed, strict=True) if same)


def _meet(
    nodes: Sequence[Node], ranks: Sequence[Behaviour], keys: dict[Communicator, list[bool]]
) -> bool:
    """Whether all ranks may be in one group of each communicator: they give its agreed answers alike."""
    return all(len({_key(rank, keys[of]) for rank in ranks}) == 1 for of, _, _ in nodes)
