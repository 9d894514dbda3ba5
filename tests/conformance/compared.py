"""Where the driver's log leaves what a schedule promises.

Streams, events, words and groups of tasks have names in the schedule and numbers in the log: which is
which is learnt where one is used first, and holds from there on. Memory is told by its addresses.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence

from conformance.lines import Line, Log, Piece
from conformance.promised import Access, Call, Promised
from plait.runtime.schedule import Schedule

NOTHING = Line("nothing")


class Difference(Exception):
    """The first call that is not the schedule's."""


class Memory:
    """What lies where. Buffers may share bytes, so a piece may have several names."""

    def __init__(self, named: Iterable[tuple[str, int, int]]):
        self.named = list(named)
        self.found: dict[Piece, frozenset[str]] = {}

    def names(self, piece: Piece) -> frozenset[str]:
        if piece not in self.found:
            first, last = piece.address, piece.address + piece.size
            self.found[piece] = frozenset(
                name for name, at, size in self.named if at <= first and last <= at + size
            )
        return self.found[piece]


class Compared:
    """A log held against a schedule."""

    def __init__(self, schedule: Schedule, memory: Memory):
        self.promised = Promised(schedule)
        self.memory = memory
        self.numbers: dict[tuple[object, str], object] = {}
        self.names: dict[tuple[object, object], str] = {}
        self.calls = 0
        """How many agreed."""

    def compare(self, log: Log, buckets: Sequence[int]) -> None:
        """Of rounds at the buckets of these numbers. Raises Difference."""
        *rounds, _ = log.rounds
        if len(rounds) != len(buckets):
            raise Difference(
                f"{len(buckets)} rounds were asked for, and {len(rounds)} are in the log"
            )
        for number, (at, found) in enumerate(zip(buckets, rounds, strict=True)):
            bucket = self.promised.schedule.buckets[at]
            lines = _Lines(found, f"round {number}, {bucket.name}")
            if lines.next.op == "finish":  # of what the caller did to buffers before
                lines.take()
            for call in self.promised.round(number, at):
                graph = self.take(call, lines)
                if call.op == "execute":
                    name = self.promised.schedule.captures[call.capture].name
                    inner = _Lines(log.graphs[graph], f"{lines.where}, {name} ({graph})")
                    for one in self.promised.graph(number, at, call.capture):
                        self.take(one, inner)
                    inner.end()
            lines.end()

    def take(self, call: Call, lines: _Lines) -> str:
        """The number of what the call is of."""
        self.calls += 1
        if call.op == "load":
            pairs = zip(call.accesses[::2], call.accesses[1::2], strict=True)
            for pair in pairs:
                self.touch(call, pair, lines)
            return ""
        line = lines.take(call)
        if not self.is_it(call, line):
            raise lines.difference(call, line)
        if call.op == "phase":
            for access in call.accesses:
                self.touch(call, (access,), lines)
            if (last := lines.take(call)) != Line("done", of=call.of):
                raise lines.difference(call, last)
        return line.of

    def is_it(self, call: Call, line: Line) -> bool:
        op, _, value = call.op.partition(" ")
        if (line.op, line.value, line.code) != (op, int(value or 0), 0):
            return False
        if op == "phase":
            return line.of == call.of
        if not self.same("stream", call.stream, line.stream):
            return False
        return op == "capture" or self.same(op.startswith("value"), call.of, line.of)

    def touch(self, call: Call, accesses: Sequence[Access], lines: _Lines) -> None:
        """The lines of one access, or of one copied into another: together of its size."""
        left, line = accesses[0].size, NOTHING
        while left > 0:
            line = lines.take(call)
            touched = {"reads": line.reads, "writes": line.writes}
            stream = "host" if accesses[0].by_host else call.stream
            if not self.same("stream", stream, line.stream):
                raise lines.difference(call, line)
            for access in accesses:
                pieces = touched[access.kind]
                if not pieces or not self.is_at(access, left, *pieces):
                    raise lines.difference(call, line)
            left -= touched[accesses[0].kind][0].size
        if left:
            raise lines.difference(call, line)

    def is_at(self, access: Access, left: int, piece: Piece) -> bool:
        names = self.memory.names(piece)
        if names:
            return access.name in names
        return self.same("own", f"{access.name} {left}", piece.address)

    def same(self, kind: object, name: str, number: object) -> bool:
        """Whether they stand for each other; new to each other, they do from here on."""
        if (kind, name) not in self.numbers and (kind, number) not in self.names:
            self.numbers[kind, name] = number
            self.names[kind, number] = name
        return self.numbers.get((kind, name)) == number


class _Lines:
    """Lines that are taken one by one."""

    def __init__(self, lines: Iterable[Line], where: str):
        self.left = deque(lines)
        self.where = where

    @property
    def next(self) -> Line:
        return self.left[0] if self.left else NOTHING

    def take(self, call: Call | None = None) -> Line:
        if not self.left and call is not None:
            raise self.difference(call, NOTHING)
        return self.left.popleft()

    def difference(self, call: Call, line: Line) -> Difference:
        return Difference(
            f"{self.where}: promised is `{call}`, and the driver was asked for `{line}`"
        )

    def end(self) -> None:
        if self.left:
            what = f"the driver was asked for `{self.next}` beyond what is promised"
            raise Difference(f"{self.where}: {what}")
