"""A trace given to a schedule: what every figure of the report is taken from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from plait.compiler.align.declared import Declared, declared
from plait.compiler.align.instances import Instance, Instances, Span
from plait.compiler.align.match import Matched, matched
from plait.compiler.align.names import Names
from plait.compiler.align.pieces import Piece, busiest, pieces
from plait.compiler.align.rounds import NoRounds, numbered
from plait.compiler.align.windows import labelled
from plait.compiler.spread import mad, median
from plait.compiler.traces.model import Trace
from plait.runtime.schedule import Bucket, Schedule

LEAST_TOLERANCE = 2_000
"""Nanoseconds by which what waits may seem to begin too early."""
LOOKED_AT = 20_000
"""Pieces whose gaps say how far gaps stray."""
SHARE_OF_A_ROUND = 100
"""The tolerance is never more than one in so many of a round."""


class AlignError(Exception):
    """A trace that cannot be aligned at all."""


@dataclass
class Aligned:
    schedule: Schedule
    bucket: Bucket
    trace: Trace
    device: str
    declared: Declared
    pieces: list[Piece]
    found: Matched
    seen: Instances
    rounds: list[int]
    """Those that are whole, in order."""
    partial: list[int]
    """The first and the last of the trace, where they are cut off."""
    tolerance: int
    ends: dict[int, int | None] = field(default_factory=dict)
    """Of every round when the last of it was over; None: that is not in the trace."""
    last: dict[int, Instance] = field(default_factory=dict)
    """Of every round what was over last: of it, or of one before that took longer."""

    @property
    def measured(self) -> list[int]:
        """Rounds whose length is known: those with another right before, or the only one."""
        known = [r for r in self.rounds if self.ends[r] is not None]
        if len(self.rounds) == 1:
            return known
        return [r for r in known if self.ends.get(r - 1) is not None]

    def begins(self, round: int) -> int:
        """When the round before was over; where there is none, when this one began."""
        before = self.ends.get(round - 1)
        if before is not None:
            return before
        return min(one.start for one in self.of(round))

    def over(self, round: int) -> int:
        end = self.ends[round]
        assert end is not None
        return end

    def length(self, round: int) -> int:
        return self.over(round) - self.begins(round)

    def of(self, round: int) -> list[Instance]:
        every = (self.seen.get(node, round) for node in range(len(self.declared.nodes)))
        return [one for one in every if one is not None]

    def instances(self, node: int) -> list[Instance]:
        every = (self.seen.get(node, round) for round in self.rounds)
        return [one for one in every if one is not None]


def align(
    schedule: Schedule,
    bucket: Bucket,
    trace: Trace,
    maps: Sequence[str] = (),
    tolerance: int | None = None,
    device: str | None = None,
) -> Aligned:
    """Raises AlignError, MapError."""
    said_of = declared(schedule, bucket)
    names = Names(said_of, schedule.name, maps)
    device = busiest(trace) if device is None else device
    found_pieces = pieces(trace, names, device)
    said, held, spans = labelled(trace, found_pieces, names)
    if not found_pieces:
        raise AlignError(f"{trace.file}: shows no work of a device")
    try:
        rounds = numbered(said_of, found_pieces, said, held, _lost(trace))
    except NoRounds:
        raise AlignError(
            f"{trace.file}: one name alone is of {schedule.name}, which does not tell one round from the "
            "next; say what others mean with --map 'REGEX=PHASE'"
        ) from None
    found = matched(said_of, found_pieces, said, held, rounds)
    if not any(node >= 0 for node in found.nodes):
        raise AlignError(
            f"{trace.file}: has no round of {schedule.name}: no name in it is of a phase, a capture or "
            f"a mark of that; say what they are with --map 'REGEX=PHASE'"
        )
    seen = Instances(found_pieces, found, _extents(found, held, spans))
    unseen = [node for node in range(len(said_of.nodes)) if not seen.expected(node)]
    said_of = said_of.bridged(unseen)
    made = Aligned(
        schedule,
        bucket,
        trace,
        device,
        said_of,
        found_pieces,
        found,
        seen,
        [],
        [],
        _tolerance(found_pieces) if tolerance is None else tolerance,
    )
    _whole(made)
    _ends(made)
    if tolerance is None and made.measured:
        made.tolerance = min(
            made.tolerance,
            max(
                LEAST_TOLERANCE,
                median([made.length(round) for round in made.measured]) // SHARE_OF_A_ROUND,
            ),
        )
    return made


def _lost(trace: Trace) -> list[int]:
    """When graphs were launched that left nothing in the trace."""
    seen = {replay.launch for replay in trace.replays if replay.slices}
    return [
        one.start
        for number, one in enumerate(trace.slices)
        if one.kind == "launch" and "GraphLaunch" in one.name and number not in seen
    ]


def _extents(found: Matched, held: Sequence[int], spans: Mapping[int, Span]) -> dict[Span, Span]:
    """From when to when a node was at work in a round, where a mark on its stream says it."""
    made: dict[Span, Span] = {}
    for number, window in enumerate(held):
        node, round = found.nodes[number], found.rounds[number]
        if node < 0 or window not in spans:
            continue
        start, end = made.get((node, round), spans[window])
        made[node, round] = min(start, spans[window][0]), max(end, spans[window][1])
    return made


def _tolerance(pieces: Sequence[Piece]) -> int:
    """Three times how far gaps between what follows on a lane stray, and at least 2 us."""
    last: dict[int, int] = {}
    gaps = []
    for piece in pieces[:LOOKED_AT]:
        if piece.lane in last and piece.start >= last[piece.lane]:
            gaps.append(piece.start - last[piece.lane])
        last[piece.lane] = max(piece.end, last.get(piece.lane, 0))
    return max(LEAST_TOLERANCE, 3 * mad(gaps))


def _whole(made: Aligned) -> None:
    """Keeps the rounds of the trace, but the first and the last where nodes of most others are missing."""
    by_round: dict[int, set[int]] = {}
    for node, round in made.seen.found:
        by_round.setdefault(round, set()).add(node)
    rounds = sorted(by_round)
    usual = {
        node
        for node in range(len(made.declared.nodes))
        if 2 * sum(node in by_round[round] for round in rounds) > len(rounds)
    }
    made.rounds = rounds
    for place in (0, -1):
        if len(made.rounds) > 2 and usual - by_round[made.rounds[place]]:
            made.partial.append(made.rounds.pop(place))


def _ends(made: Aligned) -> None:
    last: Instance | None = None
    for round in sorted([*made.rounds, *made.partial]):
        unsure = 0
        for node in range(len(made.declared.nodes)):
            one = made.seen.get(node, round)
            if one is not None:
                unsure = max(unsure, one.latest)
                if last is None or (one.end, round) > (last.end, last.round):
                    last = one
            elif made.seen.expected(node) and round not in made.partial:
                unsure = max(unsure, made.seen.latest(node, round))
        assert last is not None, "a round is one of which something was seen"
        made.last[round] = last
        made.ends[round] = last.end if unsure <= last.end else None
    if made.partial and max(made.ends) in made.partial:
        made.ends.pop(max(made.ends))
