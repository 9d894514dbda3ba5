"""A read of what a graph has left in its memory, issued after a replay has overwritten it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from plait.compiler.order import Order
from plait.compiler.races.conflicts import regions_meet, static_by_capture
from plait.compiler.races.hidden import Hidden, Left, left_by_graphs, memory_of
from plait.compiler.races.regions import Box, box, subtract
from plait.compiler.round import Access, Capture, Close, Phase, Round
from plait.compiler.rules.rule import Rule
from plait.compiler.target import Target
from plait.dsl.diagnostic import Diagnostic, Label
from plait.dsl.record import Record

RULE = Rule(
    code="PL303",
    title="what a graph has left is read after a replay has overwritten it",
    why="""\
What a graph writes lives in its pool, unless it is `static` or `carried`, and only until a graph of
that pool is replayed: another one, or the same one in the next round. A read that is issued later sees
what that replay has left there, whatever waits for what. Read it above that replay, copy it, declare it
`static` or `carried`, or give the two graphs pools of their own.""",
    bad="""\
spec 1
pipeline p {
  stream main
  pool graphs
  buffer x : i64[4] carried
  buffer probs : f32[4]
  buffer seen : f32[4] carried
  capture draft on main rows 4 in graphs {
    phase guess on main { reads x  writes probs }
  }
  capture verify on main rows 4 in graphs {
    phase target on main { updates x }
  }
  phase look on main { reads probs  writes seen }
}
""",
    mended="""\
spec 1
pipeline p {
  stream main
  pool graphs
  buffer x : i64[4] carried
  buffer probs : f32[4]
  buffer seen : f32[4] carried
  capture draft on main rows 4 in graphs {
    phase guess on main { reads x  writes probs }
  }
  phase look on main { reads probs  writes seen }
  capture verify on main rows 4 in graphs {
    phase target on main { updates x }
  }
}
""",
)


class _Value(Record):
    """What a graph, or a phase in its stead, has last written of a buffer in one round."""

    parts: list[Box]
    memory: int
    replays: int
    """Of that memory, up to the one that wrote it."""


def check(round: Round, found: Order, target: Target) -> list[Diagnostic]:
    left = left_by_graphs(round, static_by_capture(round))
    if not left:
        return []
    return [_diagnostic(round, *dead) for dead in _Walk(round, left).dead()]


class _Walk:
    """The round, issued as often as reads go back, with every replay and what it leaves."""

    def __init__(self, round: Round, left: dict[int, Left]):
        self.round = round
        self.left = left
        self.replays: dict[int, list[Capture]] = {}
        """Of each memory, in the order of issue."""
        self.values: dict[tuple[int, int], list[_Value]] = {}
        """By buffer and round."""

    def dead(self) -> list[tuple[Phase, Access, Hidden, Capture]]:
        """Every read that comes too late, with the memory and the first replay that overwrites it."""
        kept = [a for p in self.round.phases for a in p.accesses if a.buffer in self.left]
        last = max((access.rounds_back for access in kept), default=0)
        found = []
        for number in range(last + 1):
            for item in self.round.items:
                if isinstance(item, Phase):
                    late = [(item, access) for access in item.accesses if self.reads(item, access)]
                    if number == last:
                        found += [one for pair in late for one in self.overwritten(number, *pair)]
                    if item.capture is None:
                        self.write(number, item)
                elif isinstance(item, Close):
                    self.replay(number, self.round.captures[item.capture])
        return found

    def reads(self, phase: Phase, access: Access) -> bool:
        """Whether it takes from outside what a graph has left."""
        kept = self.left.get(access.buffer)
        return access.reads and kept is not None and phase.capture not in kept.by_capture

    def replay(self, number: int, capture: Capture) -> None:
        self.replays.setdefault(memory_of(self.round, capture).number, []).append(capture)
        for phase in self.of_capture[capture.number]:
            self.write(number, phase)

    def write(self, number: int, phase: Phase) -> None:
        for access in phase.accesses:
            kept = self.left.get(access.buffer)
            if not access.writes or kept is None:
                continue
            memory = kept.memories[0]
            if phase.capture is not None:
                memory = kept.by_capture.get(phase.capture, memory)
            region = self.box(access)
            before = self.values.get((access.buffer, number), [])
            known = self.round.buffers[access.buffer].shape is not None or access.region is None
            values = [
                one.replace(parts=subtract(one.parts, region)) if known else one for one in before
            ]
            replays = len(self.replays.get(memory.number, ()))
            values.append(_Value([region], memory.number, replays))
            self.values[access.buffer, number] = [one for one in values if one.parts]

    def overwritten(
        self, number: int, phase: Phase, access: Access
    ) -> Iterator[tuple[Phase, Access, Hidden, Capture]]:
        memories = {one.number: one for one in self.left[access.buffer].memories}
        region = self.box(access)
        for value in self.values.get((access.buffer, number - access.rounds_back), ()):
            since = self.replays.get(value.memory, [])[value.replays :]
            if since and any(regions_meet(part, region) for part in value.parts):
                yield phase, access, memories[value.memory], since[0]
                return

    def box(self, access: Access) -> Box:
        """Of an opaque buffer, whose extent is not known, all of it."""
        shape = self.round.buffers[access.buffer].shape
        return () if shape is None else box(access.region, shape)

    @cached_property
    def of_capture(self) -> dict[int, list[Phase]]:
        found: dict[int, list[Phase]] = {capture.number: [] for capture in self.round.captures}
        for phase in self.round.phases:
            if phase.capture is not None:
                found[phase.capture].append(phase)
        return found


def _diagnostic(
    round: Round, phase: Phase, access: Access, memory: Hidden, by: Capture
) -> Diagnostic:
    buffer = round.buffers[access.buffer]
    again = "the next replay of" if by.number in _writers(round, access.buffer) else "the replay of"
    return Diagnostic(
        RULE.code,
        f"`{phase.name}` reads `{buffer.name}`, which {again} `{by.name}` has overwritten by then",
        access.span,
        label=f"reads {buffer.name}, kept in {memory.words}",
        labels=(Label(by.span, f"overwrites {memory.words}"),),
        facts=(
            ("buffer", buffer.name),
            ("memory", memory.words),
            ("phases", f"{by.name}, {phase.name}"),
        ),
        help=f"read it above that replay, or declare `{buffer.name}` static or carried",
    )


def _writers(round: Round, buffer: int) -> set[int | None]:
    """The captures that write a buffer."""
    return {p.capture for p in round.phases for a in p.accesses if a.buffer == buffer and a.writes}
