"""What a graph has left in its memory and a replay overwrites too early, by listing as in `needed.py`.

The memory of a graph, or of all graphs of a pool, is one thing that each replay writes; who reads what
is left there reads it. A read issued after the next replay of that memory comes too late in any order.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from plait.compiler.mutate.needed import Graph, Unordered, Walk, may_meet, sequences
from plait.compiler.round import Access, Phase, Round
from plait.dsl.record import Record


class _Use(Record):
    name: str
    round: int
    replays: bool
    begin: int
    end: int
    run: object


class _Left(Record):
    """What a graph has written of a buffer."""

    access: Access
    memory: str
    replays: int
    """Of that memory, up to then."""


def spoiled(routes: Sequence[Round]) -> Iterator[Unordered]:
    if not any(route.captures for route in routes):
        return
    different = list({route.meeting: route for route in routes}.values())
    for sequence in sequences(different):
        walk = _Walk()
        for number, round in enumerate(sequence):
            walk.round(number, round)
        yield from walk.late
        for memory, uses in walk.uses.items():
            for place, later in enumerate(uses):
                for earlier in uses[:place] if later.replays else ():
                    if not earlier.end & later.begin and earlier.run is not later.run:
                        apart = later.round - earlier.round
                        yield Unordered(earlier.name, later.name, memory, apart)


class _Walk(Walk):
    def __init__(self) -> None:
        super().__init__()
        self.uses: dict[str, list[_Use]] = {}
        self.replays: dict[str, int] = {}
        self.left: dict[tuple[str, int], list[_Left]] = {}
        self.late: list[Unordered] = []

    def round(self, number: int, round: Round) -> None:
        self.memories = _memories(round)
        super().round(number, round)

    def touch(
        self, phase: Phase, access: Access, begin: int, end: int, run: object, within: object = None
    ) -> None:
        super().touch(phase, access, begin, end, run, within)
        kept = self.memories.get(access.buffer, {})
        if within is None and kept and phase.capture not in kept:
            for memory in dict.fromkeys(kept.values()):
                use = _Use(phase.name, self.number, False, begin, end, run)
                self.uses.setdefault(memory, []).append(use)

    def phase(self, phase: Phase, graph: Graph | None) -> None:
        for access in phase.accesses:
            kept = self.memories.get(access.buffer, {})
            if access.reads and kept and phase.capture not in kept:
                self.read(phase, access)
        super().phase(phase, graph)
        if graph is None:
            self.written(phase)

    def read(self, phase: Phase, access: Access) -> None:
        name = self.of.buffers[access.buffer].name
        for one in reversed(self.left.get((name, self.number - access.rounds_back), [])):
            if may_meet(self.of, one.access, access):
                if one.replays < self.replays.get(one.memory, 0):
                    self.late.append(Unordered(one.memory, phase.name, name, 0))
                if one.access.region in (None, access.region):
                    return

    def written(self, phase: Phase) -> None:
        for access in phase.accesses:
            kept = self.memories.get(access.buffer, {})
            if access.writes and kept:
                memory = kept.get(phase.capture, next(iter(kept.values())))
                name = self.of.buffers[access.buffer].name
                made = _Left(access, memory, self.replays.get(memory, 0))
                self.left.setdefault((name, self.number), []).append(made)

    def closed(self, graph: Graph) -> None:
        super().closed(graph)
        round, capture = self.of, self.of.captures[graph.capture]
        memory = _memory(round, graph.capture)
        self.replays[memory] = self.replays.get(memory, 0) + 1
        end = self.tails[None, round.streams[capture.stream].name] & ~graph.past
        last = 1 << (end.bit_length() - 1)
        use = _Use(capture.name, self.number, True, graph.past, last, graph.run)
        self.uses.setdefault(memory, []).append(use)
        for phase in round.phases:
            if phase.capture == graph.capture:
                self.written(phase)


def _memory(round: Round, capture: int) -> str:
    made = round.captures[capture]
    return made.name if made.pool is None else f"pool {round.pools[made.pool].name}"


def _memories(round: Round) -> dict[int, dict[int | None, str]]:
    """Of each buffer that graphs leave in their memory, by graph, where."""
    found: dict[int, dict[int | None, str]] = {}
    for capture in range(len(round.captures)):
        static = Graph(round, capture, 0, 0, 0).static
        for phase in round.phases:
            for access in phase.accesses if phase.capture == capture else ():
                buffer = round.buffers[access.buffer]
                apart = buffer.carried or buffer.scratch or buffer.place != "device"
                pool = None if buffer.pool is None else round.pools[buffer.pool]
                if not access.writes or apart or access.buffer in static:
                    continue
                if pool is None or pool.size is None:
                    memory = f"pool {pool.name}" if pool else _memory(round, capture)
                    found.setdefault(access.buffer, {})[capture] = memory
    return found
