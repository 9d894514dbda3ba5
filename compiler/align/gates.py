"""The actual critical path of a round: from its end back to the end of the round before, gate by gate.

What held a node up is, of all that it comes after, what ended last. Between that and its start lies the
launch, as long as the host had not issued it, and then the latency of the join. The segments tile the round
exactly; where the trace lacks what decides, the rest of the round is of nobody.
"""

from __future__ import annotations

from typing import Literal

from plait.compiler.align.aligned import Aligned
from plait.compiler.align.instances import Instance
from plait.compiler.align.joins import latest
from plait.compiler.intervals import together
from plait.dsl.record import Record

Kind = Literal["busy", "bubble", "latency", "launch", "front", "unknown"]
MOST_STEPS = 1_000_000


class Segment(Record):
    start: int
    end: int
    kind: Kind
    """`busy`: a node; `bubble`: its time includes that, and nothing of it ran; `latency`: what it waited
    for was over; `launch`: and the host had not issued it; `front`: nothing came before it."""
    node: int | None


def path(made: Aligned, round: int) -> list[Segment]:
    """First to last."""
    begin, end = made.begins(round), made.over(round)
    found: list[Segment] = []
    at: Instance | None = made.last[round]
    time = end
    while time > begin:
        if at is None or len(found) > MOST_STEPS:
            found.append(Segment(begin, time, "unknown", None))
            break
        start = max(min(at.start, time), begin)
        if start < time:
            found += _inside(made, at, start, time)
        time = start
        if time == begin:
            break
        orders = [one for one in made.declared.before(at.node) if made.seen.expected(one.source)]
        known = [one for one in orders if at.round - one.rounds_back in made.ends]
        before, unsure = latest(made, known, at.round)
        if before is None and not unsure and not at.begins:
            before, unsure = None, True
        if before is None and not unsure:
            found.append(Segment(begin, time, "front", at.node))
            break
        if before is not None and before.end < time:
            gap = max(before.end, begin)
            issued = min(max(at.issued, gap), time) if at.issued >= 0 else gap
            if issued < time:
                found.append(Segment(issued, time, "latency", at.node))
            if gap < issued:
                found.append(Segment(gap, issued, "launch", at.node))
            time = gap
        at = before
    found.reverse()
    assert sum(one.end - one.start for one in found) == end - begin, "the path tiles the round"
    return found


def _inside(made: Aligned, at: Instance, start: int, end: int) -> list[Segment]:
    """A node's part of the path, the last first: its time, and that in which nothing of it ran."""
    ran = together(
        (max(made.pieces[n].start, start), min(made.pieces[n].end, end)) for n in at.pieces
    )
    found: list[Segment] = []
    time = start
    for one_start, one_end in [one for one in ran if one[1] > one[0]]:
        if one_start > time:
            found.append(Segment(time, one_start, "bubble", at.node))
        found.append(Segment(one_start, one_end, "busy", at.node))
        time = one_end
    if time < end:
        found.append(Segment(time, end, "bubble", at.node))
    return found[::-1]


def signature(segments: list[Segment]) -> tuple[int, ...] | None:
    """The nodes of a path, first to last; None where a part of it is unknown."""
    if any(one.kind == "unknown" for one in segments):
        return None
    nodes: list[int] = []
    for one in segments:
        if one.kind in ("busy", "bubble") and one.node is not None and nodes[-1:] != [one.node]:
            nodes.append(one.node)
    return tuple(nodes)


def floor(made: Aligned, durations: dict[int, int]) -> int:
    """How long a round takes with those durations and without any gap, once rounds repeat."""
    rounds = 8
    ended: dict[tuple[int, int], int] = {}
    ends = [0] * rounds
    before = [made.declared.before(node) for node in range(len(made.declared.nodes))]
    for round in range(rounds):
        for node in durations:
            start = max(
                (ended.get((one.source, round - one.rounds_back), 0) for one in before[node]),
                default=0,
            )
            ended[node, round] = start + durations[node]
            ends[round] = max(ends[round], ended[node, round])
    half = rounds // 2
    return (ends[-1] - ends[half - 1]) // (rounds - half)
