"""What is known of pieces by name: of the innermost window that bears the name of a phase, else their own."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

from plait.compiler.align.names import Names, Said
from plait.compiler.align.pieces import Piece
from plait.compiler.traces.model import Trace


def labelled(
    trace: Trace, pieces: Sequence[Piece], names: Names
) -> tuple[list[Said], list[int], dict[int, tuple[int, int]]]:
    """Of each piece what is said of it, and the mark that says it, or -1; and of marks on a device's own
    lanes from when to when they are."""
    place = {piece.slice: number for number, piece in enumerate(pieces)}
    said = [piece.said for piece in pieces]
    held = [-1] * len(pieces)
    spans: dict[int, tuple[int, int]] = {}
    rounds: dict[int, int] = {}
    for window in trace.windows:
        word = names.of(window.name)
        if word.whole and word.round >= 0:
            for one in window.slices:
                rounds[one] = word.round
        if not word.nodes or word.strength != "A":
            continue
        on_host = names.on_host.issuperset(word.nodes)
        for one in window.slices:
            if one in place and not on_host:
                said[place[one]], held[place[one]] = word, window.mark
        if window.how == "device":
            if not window.slices and window.mark in place:
                held[place[window.mark]] = window.mark
            spans[window.mark] = window.start, window.end
    told = [(one.start, one.end, one.number) for one in trace.rounds]
    starts = [start for start, _, _ in told]
    for number, piece in enumerate(pieces):
        if said[number].round >= 0:
            continue
        round = trace.slices[piece.slice].round
        if round < 0:
            round = rounds.get(piece.slice, -1)
        if round < 0 and told and trace.format != "Plait" and not rounds:
            round = _around(told, starts, piece)
        if round >= 0:
            said[number] = said[number]._replace(round=round)
    return said, held, spans


def _around(told: list[tuple[int, int, int]], starts: list[int], piece: Piece) -> int:
    """The round that a piece lies in; -1: none, or in more than one."""
    place = bisect_right(starts, piece.start)
    found = [number for start, end, number in told[max(place - 2, 0) : place] if piece.end <= end]
    return found[0] if len(found) == 1 else -1
