"""What a round repeated must keep in order, as a graph for networkx to judge the wiring by."""

from __future__ import annotations

import networkx

from plait.compiler.round import HOST, Close, Edge, Open, Phase, Round, Source, Vote

Node = tuple[int, int, str]
"""Of a round, an item, and whether it is its `issue` by the host or its `run`."""
Queue = tuple[int | None, int]
Wait = tuple[int, int, int]
"""Source, target, rounds back."""


def happens(round: Round, rounds: int) -> networkx.DiGraph:
    """All order of that many rounds; an edge is `asked` where only an edge of the text gives it."""
    return _Graph(round, rounds).graph


def least_waits(graph: networkx.DiGraph, last: int) -> set[Wait]:
    """What crosses queues in the transitive reduction, of those that the last round begins after."""
    reduced = networkx.transitive_reduction(graph)
    return {
        (source[1], target[1], last - source[0])
        for source, target in reduced.edges
        if target[0] == last and graph.edges[source, target]["asked"]
    }


class _Graph:
    def __init__(self, round: Round, rounds: int):
        self.round = round
        self.graph = networkx.DiGraph()
        self.host: Node | None = None
        self.newest: dict[Queue, Node] = {}
        self.waiting: dict[Queue, list[Node]] = {}
        for number in range(rounds):
            for place, item in enumerate(round.items):
                self.item(number, place, item)

    def follow(self, node: Node, *before: Node | None, asked: bool = False) -> None:
        self.graph.add_node(node)
        for one in before:
            if one is not None and not (asked and self.graph.has_edge(one, node)):
                self.graph.add_edge(one, node, asked=asked)

    def queue(self, capture: int | None, stream: int) -> Queue:
        if capture is None or stream in (HOST, self.round.captures[capture].stream):
            return None, stream
        return capture, stream

    def item(self, number: int, place: int, item) -> None:
        run = (number, place, "run")
        if isinstance(item, Edge):
            target = self.queue(item.capture, item.target)
            self.waiting.setdefault(target, []).extend(self.sources(number, item))
            if item.target == HOST:
                self.run(run, target)
        elif isinstance(item, Vote):
            self.run(run, (None, HOST))
        elif isinstance(item, Phase):
            self.run(run, self.queue(item.capture, item.stream))
        else:
            queue = (None, self.round.captures[item.capture].stream)
            inner = [key for key in self.newest if key[0] == item.capture]
            if isinstance(item, Close):
                self.follow(run, *(self.newest.pop(key) for key in inner))
                for key in [key for key in self.waiting if key[0] == item.capture]:
                    del self.waiting[key]
            self.run(run, queue)

    def run(self, run: Node, queue: Queue) -> None:
        if queue[1] == HOST:
            self.follow(run, self.host)
            self.host = run
        else:
            issue = (run[0], run[1], "issue")
            self.follow(issue, self.host)
            self.follow(run, issue)
            self.host = issue
        before = self.newest.get(queue)
        if before is None and queue[0] is not None:  # a graph's streams begin at its load
            before = (run[0], self.round.places["loaded", queue[0]], "run")
        self.follow(run, before)
        self.follow(run, *self.waiting.pop(queue, []), asked=True)
        self.newest[queue] = run

    def sources(self, number: int, edge: Edge) -> list[Node]:
        source = edge.source
        if source.kind != "stream":
            return self.named(number, source)
        queue = self.queue(edge.capture, source.number)
        newest = self.newest.get(queue)
        if newest is not None and edge.capture is not None and newest[0] != number:
            newest = None  # within a graph, only what this replay has issued counts
        return [one for one in (newest, *self.waiting.get(queue, [])) if one is not None]

    def named(self, number: int, source: Source) -> list[Node]:
        back = number - source.rounds_back
        if source.kind == "elsewhere":
            runs = [n for n in self.graph if n[0] <= back and n[2] == "run"]
            ran = [n for n in runs if self.stream(n[1]) == source.number]
            return ran[-1:]
        return [(back, self.round.places[source.kind, source.number], "run")] if back >= 0 else []

    def stream(self, place: int) -> int | None:
        item = self.round.items[place]
        if isinstance(item, Open | Close):
            return self.round.captures[item.capture].stream
        return item.stream if isinstance(item, Phase) and item.capture is None else None
