"""Windows by name: which pieces lie in a range that bears the name of a phase, or of a round.

A range on a stream holds what ran in it; one on a host holds what was launched in it, on the same thread if
ranges of several threads are open at once. Of ranges in ranges the innermost counts.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field

from plait.compiler.align.names import Names, Said
from plait.compiler.align.pieces import Piece, is_host
from plait.compiler.traces.model import Trace


@dataclass
class _Flat:
    """Ranges of a lane as stretches that do not overlap, each with its innermost range."""

    starts: list[int] = field(default_factory=list)
    owners: list[int] = field(default_factory=list)
    """Numbers of slices; -1 between ranges."""

    def at(self, time: int) -> int:
        place = bisect_right(self.starts, time) - 1
        return self.owners[place] if place >= 0 else -1


class Windows:
    def __init__(self, trace: Trace, names: Names, device: str):
        self.slices = trace.slices
        self.said: dict[int, Said] = {}
        """Of each range that says something."""
        inner: dict[int, list[int]] = {}
        whole: dict[int, list[int]] = {}
        own = [lane.device == device for lane in trace.lanes]
        for number, one in enumerate(self.slices):
            if one.kind not in ("range", "host"):
                continue
            said = names.of(one.phase or one.name)
            if one.round >= 0:
                said = said._replace(round=one.round)
            if said.strength == "A" and (said.nodes or said.whole or said.live >= 0):
                self.said[number] = said
                if said.nodes:
                    inner.setdefault(one.lane, []).append(number)
                elif said.whole:
                    whole.setdefault(one.lane, []).append(number)
        self.on_streams = {lane: self.flat(inner[lane]) for lane in inner if own[lane]}
        hosts = [lane for lane in range(len(trace.lanes)) if is_host(trace, lane) or not own[lane]]
        self.on_hosts = {lane: self.flat(inner[lane]) for lane in hosts if lane in inner}
        self.rounds = {lane: self.flat(whole[lane]) for lane in hosts if lane in whole}
        self.round_streams = {lane: self.flat(whole[lane]) for lane in whole if own[lane]}
        self.ambiguous = 0
        """Pieces launched while ranges of several threads were open, none of them of its own."""

    def flat(self, numbers: Sequence[int]) -> _Flat:
        """By a stack of those that are open."""
        flat, stack = _Flat(), list[int]()
        slices = self.slices

        def close(until: int) -> None:
            while stack and slices[stack[-1]].end <= until:
                ended = slices[stack.pop()].end
                flat.starts.append(ended)
                flat.owners.append(stack[-1] if stack else -1)

        for number in sorted(numbers, key=lambda one: (slices[one].start, -slices[one].end)):
            close(slices[number].start)
            flat.starts.append(slices[number].start)
            flat.owners.append(number)
            stack.append(number)
        close(max((slices[one].end for one in numbers), default=0))
        return flat

    def of(self, piece: Piece) -> int:
        """The range that a piece lies in; -1: none, or no one can say which."""
        if (flat := self.on_streams.get(piece.lane)) is not None:
            number = flat.at(piece.start)
            if number >= 0 and piece.end <= self.slices[number].end:
                return number
        return self.projected(piece, self.on_hosts, count=True)

    def round_of(self, piece: Piece) -> int:
        """The round whose window holds it; -1: none."""
        number = -1
        if (flat := self.round_streams.get(piece.lane)) is not None:
            number = flat.at(piece.start)
        if number < 0:
            number = self.projected(piece, self.rounds)
        return self.said[number].round if number >= 0 else -1

    def projected(self, piece: Piece, hosts: dict[int, _Flat], count: bool = False) -> int:
        if piece.issued < 0:
            return -1
        if piece.thread in hosts and (found := hosts[piece.thread].at(piece.issued)) >= 0:
            return found
        open_ = [found for flat in hosts.values() if (found := flat.at(piece.issued)) >= 0]
        if len(open_) > 1 and count:
            self.ambiguous += 1
        return open_[0] if len(open_) == 1 else -1


def labelled(pieces: Sequence[Piece], windows: Windows) -> tuple[list[Said], list[int]]:
    """Of each piece what is known by name, its window's word or else its own; and the window, or -1."""
    found, held = [], []
    for piece in pieces:
        number = windows.of(piece)
        said = windows.said[number] if number >= 0 else piece.said
        if said.round < 0 and (round := windows.round_of(piece)) >= 0:
            said = said._replace(round=round)
        found.append(said)
        held.append(number)
    return found, held
