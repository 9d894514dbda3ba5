"""The bill of a pipeline on a target: what all its routes together take, and of how much there is."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from functools import cached_property

from plait.compiler.budgets.graphs import Graph, graphs_of
from plait.compiler.round import Round
from plait.compiler.target import Target
from plait.dsl.record import Record


class Row(Record):
    """What the graphs of one capture, or of all of one name, take together."""

    name: str
    captures: int
    """As many as a loop or calls unroll it to."""
    each: tuple[str, ...]
    """Dims, run-time params and guards that make another graph of it; none: a fixed cost."""
    graphs: int
    side: tuple[str, ...]
    communicators: tuple[str, ...]
    instances: int
    """Of the graph that has most."""
    most: int
    """Streams of the graph that takes most, one instance."""
    streams: int
    tasks: int
    inputs: int
    """Bytes that are copied in, over all its graphs."""


class Exchange(Record):
    group: str
    rows: int | None
    """Most rows of a rank, where they are told."""
    capacity: int


@dataclass(frozen=True)
class Bill:
    target: Target
    rounds: tuple[Round, ...]
    """Every route."""
    graphs: tuple[Graph, ...]
    """Those of the routes, perhaps among others."""
    used: tuple[frozenset[int], ...]
    """The graphs that each route replays."""

    @property
    def name(self) -> str:
        return self.rounds[0].name

    @cached_property
    def replayed(self) -> list[Graph]:
        """The graphs that some route replays."""
        return [self.graphs[number] for number in sorted(frozenset().union(*self.used))]

    @property
    def room(self) -> int | None:
        """Streams that graphs may take, of the device and of a share of it; None: no limit is known."""
        streams, reserve = self.target.streams, self.target.graphs.reserve
        limits = []
        if streams.budget is not None:
            limits.append(max(streams.budget - streams.taken - reserve, 0))
        if streams.quota is not None:
            limits.append(max(streams.quota - streams.taken, 0))
        return min(limits, default=None)

    @property
    def fits(self) -> bool:
        """Whether the graphs stay within every limit that buckets count in."""
        most, room = self.target.graphs.memory_mib, self.room
        return (room is None or self.streams() <= room) and (
            most is None or self.memory <= most << 20
        )

    def streams(self, kept: Callable[[Round], bool] = lambda _: True) -> int:
        """Streams of the graphs that some rounds replay; of all rounds, if none is left out."""
        pairs = zip(self.rounds, self.used, strict=True)
        numbers = frozenset().union(*(used for round, used in pairs if kept(round)))
        return sum(self.graphs[number].streams for number in numbers)

    @cached_property
    def sizes(self) -> dict[str, list[int]]:
        """Every dim with its buckets, as they rise."""
        return {
            dim: sorted({one.sizes[dim] for one in self.rounds}) for dim in self.rounds[0].sizes
        }

    @cached_property
    def fixed(self) -> int:
        """Streams of graphs that are the same in every bucket."""
        return self.alone(lambda buckets: len(buckets) == self._buckets)

    @cached_property
    def smallest(self) -> int:
        """Streams that are left when every dim has its largest bucket alone."""
        largest = {dim: sizes[-1] for dim, sizes in self.sizes.items()}
        return self.streams(lambda round: round.sizes == largest)

    @cached_property
    def _buckets(self) -> int:
        return len({tuple(round.sizes.values()) for round in self.rounds})

    def alone(self, chosen: Callable[[set[tuple[int, ...]]], bool]) -> int:
        """Streams of the graphs that are replayed in buckets of that sort."""
        return sum(
            graph.streams
            for graph, buckets in zip(self.graphs, self._buckets_of, strict=True)
            if chosen(buckets)
        )

    @cached_property
    def _buckets_of(self) -> list[set[tuple[int, ...]]]:
        found: list[set[tuple[int, ...]]] = [set() for _ in self.graphs]
        for round, numbers in zip(self.rounds, self.used, strict=True):
            for number in numbers:
                found[number].add(tuple(round.sizes.values()))
        return found

    def only(self, dim: str) -> dict[int, int]:
        """Of every bucket of a dim, the streams of the graphs that no other one has."""
        place = list(self.sizes).index(dim)
        found = dict.fromkeys(self.sizes[dim], 0)
        for graph, buckets in zip(self.graphs, self._buckets_of, strict=True):
            values = {bucket[place] for bucket in buckets}
            if len(values) == 1:
                found[values.pop()] += graph.streams
        return found

    @property
    def device(self) -> int:
        """Device streams of the round that has most."""
        return max(len(round.streams) for round in self.rounds) - 1

    @property
    def slots(self) -> dict[str, int]:
        """Of every pool with a size, the values it holds at once."""
        return {pool.name: pool.size for one in self.rounds for pool in one.pools if pool.size}

    @cached_property
    def tasks(self) -> int:
        """Updatable tasks of the round that has most."""
        return max(sum(self.graphs[number].tasks for number in used) for used in self.used)

    @cached_property
    def inputs(self) -> int:
        return sum(graph.inputs for graph in self.replayed)

    @cached_property
    def pools(self) -> dict[str, int]:
        """Bytes of every pool: those of its largest graph, as its graphs share it."""
        found: dict[str, int] = {}
        for graph in self.replayed:
            found[graph.pool] = max(found.get(graph.pool, 0), graph.results)
        return found

    @property
    def memory(self) -> int:
        """Bytes that graphs take for what they copy in and make."""
        return self.inputs + sum(self.pools.values())

    @cached_property
    def opaque(self) -> tuple[str, ...]:
        """Buffers of graphs whose size is not known, and which no sum here has."""
        return tuple(dict.fromkeys(name for graph in self.replayed for name in graph.opaque))

    @cached_property
    def exchanges(self) -> list[Exchange]:
        """Most rows and least capacity over every group with a capacity."""
        found: dict[str, Exchange] = {}
        for round in self.rounds:
            for phase in round.phases:
                if phase.collective is None or phase.collective.capacity is None:
                    continue
                name = round.groups[phase.collective.group].name
                one = found.get(name, Exchange(name, phase.rows, phase.collective.capacity))
                rows = max((r for r in (one.rows, phase.rows) if r is not None), default=None)
                found[name] = Exchange(name, rows, min(one.capacity, phase.collective.capacity))
        return list(found.values())

    @cached_property
    def rows(self) -> list[Row]:
        """One for every capture, in the order of the text."""
        varying = self._varying()
        captures: dict[str, list[Graph]] = {}
        for graph in self.replayed:
            captures.setdefault(graph.name, []).append(graph)
        return [
            Row(
                name,
                len({graph.whole for graph in graphs}),
                varying[name],
                sum(graph.instances for graph in graphs),
                tuple(dict.fromkeys(stream for graph in graphs for stream in graph.side)),
                tuple(dict.fromkeys(group for graph in graphs for group in graph.communicators)),
                max(graph.instances for graph in graphs),
                max(graph.streams // graph.instances for graph in graphs),
                sum(graph.streams for graph in graphs),
                sum(graph.tasks for graph in graphs),
                sum(graph.inputs for graph in graphs),
            )
            for name, graphs in captures.items()
        ]

    def _varying(self) -> dict[str, tuple[str, ...]]:
        """Of every name, the dims, params and guards of which there is a graph for each value."""
        found: dict[str, list[str]] = {graph.name: [] for graph in self.graphs}
        settings = [{**round.sizes, **round.route} for round in self.rounds]
        for asked in dict.fromkeys(name for one in settings for name in one):
            seen: dict[Hashable, int] = {}
            for one, used in zip(settings, self.used, strict=True):
                rest = tuple((name, str(value)) for name, value in one.items() if name != asked)
                for number in used:
                    graph = self.graphs[number]
                    other = seen.setdefault((rest, graph.whole), number) != number
                    if other and asked not in found[graph.name]:
                        found[graph.name].append(asked)
        return {name: tuple(asked) for name, asked in found.items()}


class Prices:
    """Graphs as they are met, each once."""

    def __init__(self, target: Target):
        self.costs = target.graphs
        self.graphs: list[Graph] = []
        self.known: dict[Hashable, int] = {}

    def graphs_in(self, round: Round) -> frozenset[int]:
        numbers = []
        for key, graph in graphs_of(round, self.costs):
            number = self.known.setdefault(key, len(self.graphs))
            if number == len(self.graphs):
                self.graphs.append(graph)
            numbers.append(number)
        return frozenset(numbers)


def bill_of(rounds: Iterable[Round], target: Target) -> Bill:
    """The bill of a pipeline's routes, of which there is one at least."""
    prices, rounds = Prices(target), tuple(rounds)
    used = tuple(prices.graphs_in(round) for round in rounds)
    return Bill(target, rounds, tuple(prices.graphs), used)
