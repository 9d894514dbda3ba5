"""Random rounds whose buffers live for some phases only, as texts; and what a schedule's programs order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import networkx
from hypothesis import strategies as st

from drawing.rounds import STREAMS
from plait.runtime.schedule import HOST, PHASE_OPS, Bucket, Capture, Instruction, Schedule


@st.composite
def passing_texts(draw: st.DrawFn, scratch: bool = True) -> str:
    """A pipeline in which each phase writes a buffer of its own, read by some of those that follow it.

    Some use a scratch buffer too. Phases stand on streams, on the host, or in captures with a side
    stream. What a phase has read goes into a carried buffer of its own. Edges that are needed are left
    to be mended.
    """
    streams = STREAMS[: draw(st.integers(1, 3))]
    buffers = ["  buffer rough : i64[100] scratch"]
    body = []
    count = 0

    def phase(stream: str) -> str:
        nonlocal count
        number, count = count, count + 1
        size = draw(st.sampled_from([8, 64, 100, 192]))
        what = draw(st.sampled_from(["", "", "", "", " carried"]))
        buffers.append(f"  buffer x{number} : i64[{size}]{what}")
        buffers.append(f"  buffer seen{number} : i64[1] carried")
        back = st.integers(max(0, number - 4), number - 1)
        read = draw(st.sets(back, max_size=2)) if number else set()
        reads = " ".join(f"reads x{one}" for one in sorted(read))
        rough = "updates rough" if scratch and draw(st.integers(0, 3)) == 0 else ""
        writes = f"writes x{number} updates seen{number} {rough}"
        return f"phase p{number} on {stream} {{ {reads} {writes} }}"

    for number in range(draw(st.integers(4, 10))):
        kind = draw(st.sampled_from(["phase", "phase", "host", "capture", "join", "join"]))
        stream = draw(st.sampled_from(streams))
        if kind == "host":
            body.append(f"  {phase('host')}")
        elif kind == "join" and count:
            body.append(f"  join p{draw(st.integers(0, count - 1))} into {stream}")
        elif kind == "capture":
            inner = []
            others = [one for one in streams if one != stream]
            side = draw(st.sampled_from(others)) if others and draw(st.booleans()) else None
            forked, length = draw(st.integers(0, 2)), draw(st.integers(1, 3))
            for place in range(length):
                if side is not None and place == min(forked, length - 1):
                    inner.append(f"fork {side} from {stream} {phase(side)}")
                inner.append(phase(stream))
            if side is not None:
                inner.append(f"join {side} into {stream}")
            body.append(f"  capture g{number} on {stream} rows 4 {{ {' '.join(inner)} }}")
        else:
            body.append(f"  {phase(stream)}")
    named = [f"  stream {name}" for name in streams]
    return "\n".join(["spec 1", "pipeline p {", *named, *buffers, *body, "}", ""])


Node = tuple[int, int, int]
"""Of a round, an instruction, and within a replay its own instructions, from 1."""


class Reach:
    """What some rounds of a schedule order: every path in the graph of their instructions."""

    def __init__(self, schedule: Schedule, buckets: Sequence[Bucket]):
        self.schedule = schedule
        self.graph = networkx.DiGraph()
        self.accesses: dict[tuple[int, int], list[Node]] = {}
        """Of a buffer, and a round."""
        self.tails: dict[int, Node] = {}
        self.records: dict[int, dict[int, Node | None]] = {}
        self.waiting: dict[int, list[Node]] = {}
        for number, bucket in enumerate(buckets):
            for step, one in enumerate(schedule.program_of(bucket)):
                self.instruction((number, step, 0), one)
        closure = networkx.transitive_closure_dag(self.graph)
        self.after = {node: set(closure.successors(node)) for node in closure}

    def before(self, ones: Sequence[Node], others: Sequence[Node]) -> bool:
        return all(other in self.after[one] for one in ones for other in others)

    def instruction(self, node: Node, one: Instruction) -> None:
        number = node[0]
        if one.op == "record":
            self.records.setdefault(one.of, {})[number] = self.tails.get(one.on)
        elif one.op in ("wait", "block"):
            made = self.records.get(one.of, {})
            newest = max((r for r in made if r <= number - one.rounds_back), default=None)
            source = None if newest is None else made[newest]
            if source is not None:
                self.waiting.setdefault(one.on, []).append(source)
            if one.op == "block":
                self.next(node, HOST)
        elif one.op == "load":
            self.next(node, one.on)
            for buffer, _ in self.schedule.captures[one.of].copied_in:
                self.touch(buffer, node)
        elif one.op == "replay":
            self.replay(node, one, self.schedule.captures[one.of])
        elif one.op in PHASE_OPS:
            self.next(node, one.on)
            for argument in self.schedule.phases[one.of].arguments:
                self.touch(argument.buffer, node)

    def next(self, node: Node, stream: int) -> None:
        """Puts an item on a stream, behind what it waits for and what the host has done."""
        self.graph.add_node(node)
        before = [self.tails.get(stream), self.tails.get(HOST), *self.waiting.pop(stream, [])]
        self.graph.add_edges_from((one, node) for one in before if one is not None)
        self.tails[stream] = node

    def replay(self, node: Node, one: Instruction, capture: Capture) -> None:
        number, step, _ = node
        self.next(node, one.on)
        tails: dict[int, Node] = {}
        records: dict[int, Node] = {}
        waiting: dict[int, list[Node]] = {}
        for place, inner in enumerate(capture.program, 1):
            tail = tails.get(inner.on, node)
            if inner.op == "record":
                records[inner.of] = tail
            elif inner.op == "wait":
                waiting.setdefault(inner.on, []).append(records[inner.of])
            else:
                own = (number, step, place)
                before = [tail, *waiting.pop(inner.on, [])]
                self.graph.add_edges_from((earlier, own) for earlier in before)
                tails[inner.on] = own
                for argument in self.schedule.phases[inner.of].arguments:
                    if not _taken(argument, capture):
                        self.touch(argument.buffer, own)
        end = (number, step, len(capture.program) + 1)
        self.graph.add_edge(node, end)
        self.graph.add_edges_from((last, end) for last in tails.values())
        self.tails[one.on] = end

    def touch(self, buffer: int, node: Node) -> None:
        self.accesses.setdefault((buffer, node[0]), []).append(node)


def _taken(argument, capture: Capture) -> bool:
    key = argument.buffer, argument.rounds_back
    return argument.kind == "reads" and key in capture.copied_in


def unordered(schedule: Schedule, reach: Reach) -> Iterator[tuple[str, str]]:
    """Pairs of buffers that have a byte in common and a round each in which they may meet."""
    from plait.runtime.schedule_memory import rooms

    sizes = rooms(schedule)
    placed = [n for n, buffer in enumerate(schedule.buffers) if buffer.offset is not None]
    for (one, first), mine in reach.accesses.items():
        for (other, second), theirs in reach.accesses.items():
            if one >= other or one not in placed or other not in placed:
                continue
            a, b = schedule.buffers[one], schedule.buffers[other]
            assert a.offset is not None and b.offset is not None
            if a.offset >= b.offset + sizes[other] or b.offset >= a.offset + sizes[one]:
                continue
            if not (reach.before(mine, theirs) or reach.before(theirs, mine)):
                yield f"{a.name} of round {first}", f"{b.name} of round {second}"
