"""Nodes as they were seen: of each in each round when it began and ended, and whether that is known."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from plait.compiler.align.consensus import Tokens
from plait.compiler.align.lcs import common
from plait.compiler.align.match import Matched
from plait.compiler.align.pieces import Piece

NEVER = 1 << 62
Span = tuple[int, int]


class Instance(NamedTuple):
    node: int
    round: int
    start: int
    end: int
    lane: int
    """That of its last piece."""
    pieces: tuple[int, ...]
    """By start."""
    letter: str
    """How surely it is this node: that of most of its pieces."""
    begins: bool
    """Whether its first operation is in the trace, so that its start is known."""
    ends: bool
    """Whether its last one is."""
    latest: int
    """By when it had ended, as what follows on its lane had begun."""
    issued: int
    """When the host began to issue it; -1: the trace does not say."""


class Instances:
    """By node and round."""

    def __init__(self, pieces: Sequence[Piece], found: Matched, windows: Mapping[Span, Span]):
        self.pieces = pieces
        self.templates = found.templates
        self.lanes: dict[int, list[int]] = {}
        """Of each node the lanes that it has work on."""
        for node, lane in found.templates:
            self.lanes.setdefault(node, []).append(lane)
        held: dict[Span, list[int]] = {}
        for number, node in enumerate(found.nodes):
            if node >= 0 and found.rounds[number] >= 0:
                held.setdefault((node, found.rounds[number]), []).append(number)
        self.order: dict[int, tuple[list[tuple[int, int]], list[int]]] = {}
        """Of each lane, what was seen on it as round and node, with when that began."""
        known = {node for node, _ in self.templates}
        first: dict[int, dict[tuple[int, int], int]] = {}
        for (node, round), numbers in held.items():
            for number in numbers:
                piece = pieces[number]
                usual = self.templates.get((node, piece.lane), () if node in known else None)
                if usual is not None and piece.token not in usual:
                    continue
                first.setdefault(piece.lane, {}).setdefault((round, node), piece.start)
                if piece.lane not in self.lanes.setdefault(node, []):
                    self.lanes[node].append(piece.lane)
        for lane, starts in first.items():
            keys = sorted(starts)
            self.order[lane] = keys, [starts[key] for key in keys]
        self.found = {
            key: self.made(*key, numbers, found.strengths, windows.get(key))
            for key, numbers in sorted(held.items())
        }

    def made(
        self,
        node: int,
        round: int,
        numbers: Sequence[int],
        strengths: Sequence[str],
        window: Span | None,
    ) -> Instance:
        pieces = self.pieces
        begins, ends, latest, own = self.edges(node, round, numbers)
        start = min(pieces[n].start for n in own)
        last = max(own, key=lambda n: (pieces[n].end, n))
        end = pieces[last].end
        issued = min((pieces[n].issued for n in numbers if pieces[n].issued >= 0), default=-1)
        letters = Counter(strengths[n] for n in numbers)
        letter = min(letters, key=lambda one: (-letters[one], one))
        if window is not None:
            start, end, begins, ends = *window, True, True
        return Instance(
            node,
            round,
            start,
            end,
            pieces[last].lane,
            tuple(numbers),
            letter,
            begins,
            ends,
            end if ends else max(latest, end),
            issued,
        )

    def edges(
        self, node: int, round: int, numbers: Sequence[int]
    ) -> tuple[bool, bool, int, Sequence[int]]:
        """Whether the first and the last operation on every lane is there; by when all was over; and
        which pieces the node has in most rounds, if any."""
        held: dict[int, list[int]] = {}
        for number in numbers:
            held.setdefault(self.pieces[number].lane, []).append(number)
        begins = ends = True
        latest, own = 0, list[int]()
        for lane in self.lanes.get(node, ()):
            here = held.get(lane, [])
            wanted = self.templates.get((node, lane), ())
            usual = _usual(wanted, tuple(self.pieces[n].token for n in here))
            own += [here[j] for _, j in usual]
            begins = begins and (not wanted or (bool(usual) and usual[0][0] == 0))
            last = not wanted or (bool(usual) and usual[-1][0] == len(wanted) - 1)
            ends = ends and last
            if not last:
                latest = max(latest, self.next(lane, node, round))
        return begins, ends, latest, own or numbers

    def next(self, lane: int, node: int, round: int) -> int:
        """When what follows on a lane began."""
        keys, starts = self.order.get(lane, ([], []))
        place = bisect_right(keys, (round, node))
        return starts[place] if place < len(keys) else NEVER

    def get(self, node: int, round: int) -> Instance | None:
        return self.found.get((node, round))

    def latest(self, node: int, round: int) -> int:
        """By when a node had surely ended, seen or not."""
        if (one := self.found.get((node, round))) is not None:
            return one.latest
        return max((self.next(lane, node, round) for lane in self.lanes.get(node, ())), default=0)

    def expected(self, node: int) -> bool:
        """Whether it was seen in any round."""
        return node in self.lanes


def _usual(wanted: Tokens, seen: Tokens) -> list[tuple[int, int]]:
    """Places of what is wanted, with those of what is seen."""
    if wanted == seen:
        return [(place, place) for place in range(len(seen))]
    return common(wanted, seen)
