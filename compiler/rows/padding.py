"""Which rows hold nothing meant: those past the live ones, followed from phase to phase of a round.

A dim is padded to its bucket, so a buffer that it sizes has rows that no request has. What they hold is
left from an earlier round, or from whatever shared the memory, unless `pad` says otherwise: a host
phase loads the live rows alone. A device phase computes every row of the bucket, each from the same
row of what it reads, so undefined rows make undefined rows and nothing else; one that looks across
rows would mix them in. How many rows an exchange brings is known to the device alone: all of what
it fills is undefined, unless it is as many rows as were sent.
"""

from __future__ import annotations

from collections.abc import Iterator

from plait.compiler.races.regions import Box, box, subtract
from plait.compiler.round import HOST, Access, Buffer, Phase, Round
from plait.dsl.record import Record

EXCHANGES = ("all_to_all", "low_latency")
MOST_PARTS = 64
"""Parts of a buffer that are told apart; beyond them it is undefined where any part is."""


class Origin(Record):
    """Where undefined rows come from."""

    buffer: int
    phase: int | None
    """That loaded only the live rows, or received; None: an earlier round."""


Origins = frozenset[Origin]
NONE: Origins = frozenset()


class Taken(Record):
    """Undefined rows that a phase reads."""

    phase: Phase
    access: Access
    origins: Origins


def undefined_reads(round: Round) -> Iterator[Taken]:
    """Every read of undefined rows, in the order of the text."""
    rows = {number: _Rows(number, one) for number, one in enumerate(round.buffers) if _judged(one)}
    for phase in round.phases:
        origins = NONE
        for access in phase.accesses:
            if access.reads and access.buffer in rows:
                known = rows[access.buffer]
                found = known.earlier(access) if access.rounds_back else known.read(access)
                if found:
                    yield Taken(phase, access, found)
                    origins |= found
        if "across_rows" in phase.attributes:
            origins = NONE
        for access in phase.accesses:
            if not access.writes or access.buffer not in rows:
                continue
            known = rows[access.buffer]
            if received(round, phase, access):
                known.receive(access, phase)
            elif phase.stream == HOST:
                known.load(access, phase)
            else:
                known.write(access, origins)


def received(round: Round, phase: Phase, access: Access) -> bool:
    """Whether an exchange fills it with rows that only the device can count."""
    if phase.collective is None or phase.collective.kind not in EXCHANGES:
        return False
    shape = round.buffers[access.buffer].shape
    sent = [round.buffers[one.buffer].shape for one in phase.accesses if one.kind == "reads"]
    return shape is not None and shape[0] not in (phase.rows, *(one[0] for one in sent if one))


def _judged(buffer: Buffer) -> bool:
    return bool(buffer.shape) and buffer.dtype != "opaque" and not buffer.scratch


class _Rows:
    """The parts of one buffer, disjoint, with the origins of what is undefined in them."""

    def __init__(self, number: int, buffer: Buffer):
        assert buffer.shape is not None
        self.number = number
        self.shape = buffer.shape
        self.kept = buffer.pad is not None
        axes = buffer.axes or (None,) * len(self.shape)
        self.live: Box = tuple(
            (0, size if axis is None else min(size, int(axis.least)))
            for axis, size in zip(axes, self.shape, strict=True)
        )
        self.parts: dict[Box, Origins] = {}
        """Only those that are undefined."""
        self.coarse = False
        self.stale = NONE
        whole = box(None, self.shape)
        if self.live != whole and not self.kept:
            self.stale = frozenset((Origin(number, None),))
            self.set(whole, self.stale)

    def read(self, access: Access) -> Origins:
        wanted = box(access.region, self.shape)
        found = NONE
        for part, origins in self.parts.items():
            if _meet(part, wanted):
                found |= origins
        return found

    def earlier(self, access: Access) -> Origins:
        """Of an earlier round, whose live rows may have been fewer or more."""
        return self.stale if subtract([box(access.region, self.shape)], self.live) else NONE

    def set(self, written: Box, origins: Origins) -> None:
        """The rows past the live ones become what these origins make them; the live ones are right."""
        self.clear(written)
        if origins:
            self.add(dict.fromkeys(subtract([written], self.live), origins))

    def clear(self, written: Box) -> None:
        if self.coarse and written != box(None, self.shape):
            return
        self.coarse = False
        if written in self.parts:
            del self.parts[written]
            return
        for part in [part for part in self.parts if _meet(part, written)]:
            origins = self.parts.pop(part)
            self.parts |= dict.fromkeys(subtract([part], written), origins)

    def add(self, parts: dict[Box, Origins]) -> None:
        self.parts |= parts
        if self.coarse or len(self.parts) > MOST_PARTS:
            everything = NONE.union(*self.parts.values())
            self.parts = {box(None, self.shape): everything}
            self.coarse = True

    def write(self, access: Access, origins: Origins) -> None:
        self.set(box(access.region, self.shape), origins)

    def load(self, access: Access, phase: Phase) -> None:
        """The live rows are right then; the others are what they were, or what `pad` says."""
        written = box(access.region, self.shape)
        left = NONE if self.kept else self.read(access)
        named = frozenset(Origin(self.number, phase.number) for _ in left)
        if not left or self.kept:
            self.clear(written)
            return
        undefined = [
            part
            for part in (_common(one, written) for one in self.parts if _meet(one, written))
            if subtract([part], self.live)
        ]
        self.clear(written)
        for part in undefined:
            self.add(dict.fromkeys(subtract([part], self.live), named))

    def receive(self, access: Access, phase: Phase) -> None:
        written = box(access.region, self.shape)
        self.clear(written)
        if not self.kept:
            self.add({written: frozenset((Origin(self.number, phase.number),))})


def _meet(a: Box, b: Box) -> bool:
    return all(max(p, r) < min(q, s) for (p, q), (r, s) in zip(a, b, strict=True))


def _common(a: Box, b: Box) -> Box:
    return tuple((max(p, r), min(q, s)) for (p, q), (r, s) in zip(a, b, strict=True))
