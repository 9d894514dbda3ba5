"""What came before what, rebuilt from the driver's log alone, and what it leaves without an order.

Nothing of the schedule is known here. Each copy is a kernel that reads and writes the bytes that the
driver was given; a graph's kernels are those that were issued while it was captured, as often as it is
executed; a word that streams write and wait for is an event, and memory as well: written again before it
was used up, it would be lost. The judge is torch's own sanitizer of CUDA programs.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator

from conformance.lines import HOST, Line, Piece
from conformance.words import Filled, Issued, Taken, Words
from oracles.sanitizer import ON_HOST, Conflict, verdict
from oracles.trace import NONE, Cells, Queue, Record, Run, Wait

OUTSIDE = ""
"""Where a graph's name stands in its place."""


def unordered(lines: Iterable[Line], scratch: Piece) -> list[Conflict]:
    """Pairs of phases that touch the same bytes, one of them writing, in no order.

    In `scratch` bodies put what they read; it is nobody's data.
    """
    words = Words()
    found = verdict(list(words.in_order(_Steps(list(lines), scratch).steps())))
    return found + words.lost


class _Steps:
    def __init__(self, lines: list[Line], scratch: Piece):
        self.lines = lines
        self.scratch = scratch
        pieces = [piece for line in lines for piece in line.reads + line.writes]
        self.cuts = sorted({bound for p in pieces for bound in (p.address, p.address + p.size)})
        self.named: dict[str, int] = {}
        self.phase = ""
        self.graphs: dict[str, list[Line]] = {}
        self.recorded: set[tuple[str, str]] = set()
        self.queues: set[Queue] = set()
        self.capturing = True
        """Until the first round: to capture, words are written that no graph waits for yet."""
        self.updating = False
        self.in_task = False
        """Whose parameters the graph has: what the host holds of them it does not read again."""

    def steps(self) -> Iterator[Issued]:
        held: list[Line] | None = None
        for line in self.lines:
            if line.code:
                continue  # it was refused
            if line.op == "capture":
                held = [line]
            elif line.op == "captured":
                self.graphs[line.of] = held or []
                held = None
            elif held is not None:
                held.append(line)
            elif line.op == "execute":
                yield from self.execute(line)
            else:
                yield from self.step(line, _queue(line.stream), OUTSIDE)

    def execute(self, line: Line) -> Iterator[Issued]:
        """A graph is memory too: it is not executed again before it is over."""
        first, *others = self.graphs[line.of]
        origin = _queue(line.stream)
        yield self.run(origin, NONE, self.cell(line.of))
        for one in others:
            number = int(line.of[1:])
            queue = origin if one.stream == first.stream else (number, _queue(one.stream)[1])
            yield from self.step(one, queue, line.of)
        yield self.run(origin, NONE, self.cell(line.of))

    def step(self, line: Line, queue: Queue, graph: str) -> Iterator[Issued]:
        event = (graph, line.of)
        match line.op:
            case "round":
                self.capturing = False
            case "phase":
                self.phase = line.of
            case "done":
                self.phase = ""
            case "update":  # from here to its end is what will be done, and nothing is
                self.updating = True
                yield self.run(queue, NONE, self.cell(line.of))
            case "updated":
                self.updating = False
            case "copy" | "copy_now" | "set" | "set_now" if not self.updating:
                yield self.run(queue, self.cells(line.reads), self.cells(line.writes))
            case "tasks":
                self.in_task = True
            case "tasked":
                self.in_task = False
                yield self.run(queue, self.cell(line.of), NONE)
            case "touch" if not self.in_task:  # from when it is issued on
                reads = self.cells(line.reads)
                yield self.run(queue, reads, self.cells(line.writes), NONE if graph else reads)
            case "record":
                yield self.record(queue, event)
            case "wait" | "block" if event in self.recorded:
                yield Wait(queue, event)
            case "finish":
                yield from self.finish(line.stream)
            case "value_write":
                yield self.run(queue, NONE, self.cell(line.of))
                if line.value:
                    yield Filled(queue, line.of, self.capturing)
            case "value_wait":
                yield Taken(queue, line.of)
                yield self.run(queue, self.cell(line.of), NONE)

    def finish(self, stream: str) -> Iterator[Issued]:
        """The host waits for all that a stream was given, or every stream."""
        for queue in sorted(self.queues, key=str):
            if queue[0] is None and queue != ON_HOST and stream in ("all", f"s{queue[1]}"):
                yield self.record(queue, ("finished", str(queue)))
                yield Wait(ON_HOST, ("finished", str(queue)))

    def run(self, queue: Queue, reads: Cells, writes: Cells, from_issue: Cells = NONE) -> Run:
        self.queues.add(queue)
        return Run(queue, self.phase, (self.phase,), 0, reads, writes, from_issue)

    def record(self, queue: Queue, event: tuple[str, str]) -> Record:
        self.queues.add(queue)
        self.recorded.add(event)
        return Record(queue, event)

    def cell(self, name: str) -> Cells:
        """What is no memory but is used like it."""
        return frozenset((self.named.setdefault(name, -1 - len(self.named)),))

    def cells(self, pieces: Iterable[Piece]) -> Cells:
        return frozenset(
            cell
            for piece in pieces
            if not _inside(piece, self.scratch)
            for cell in range(
                bisect_left(self.cuts, piece.address),
                bisect_left(self.cuts, piece.address + piece.size),
            )
        )


def _queue(stream: str) -> Queue:
    return (None, int(stream[1:])) if stream not in ("", HOST, "all") else ON_HOST


def _inside(piece: Piece, other: Piece) -> bool:
    return (
        other.address <= piece.address and piece.address + piece.size <= other.address + other.size
    )
