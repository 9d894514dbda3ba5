"""An aligned trace as a picture: what was measured, its critical path, and below it what was foretold."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from plait.compiler.align.aligned import Aligned
from plait.compiler.align.gates import Segment, path
from plait.compiler.align.text import GAPS
from plait.compiler.emit.foretold import group as foretold_group
from plait.compiler.emit.foretold import named
from plait.compiler.emit.picture import Bar, Group, Lane, Picture, Round
from plait.compiler.timing.costs import Profile
from plait.compiler.timing.simulate import simulate
from plait.dsl.render.figures import shown

MOST_FORETOLD = 16
"""Rounds that are simulated to stand below."""


def measured(made: Aligned, found: dict[str, Any], profile: Profile | None) -> Picture:
    """`found` is the report; without a profile nothing is foretold."""
    paths = {round: path(made, round) for round in made.measured}
    groups = [_group(made, paths)]
    notes = [f"Measured: {found['trace']} ({found['format']}), aligned with {found['schedule']}."]
    if profile is not None and made.measured:
        groups.append(_foretold(made, profile))
        notes.append(f"Simulated: with the costs of {profile.name}, not measured.")
    match = found["matched"]
    notes.append(f"{match['seen']} of {match['expected']} nodes of all rounds were seen.")
    notes += found["notes"]
    title = f"{found['schedule']} at {found['bucket']}: {shown(found['round']['median'])} a round"
    return Picture(
        title, tuple(groups), tuple(notes), (), (*named(made.schedule), ("trace", found["trace"]))
    )


def _group(made: Aligned, paths: dict[int, list[Segment]]) -> Group:
    on_path = {
        (one.node, round)
        for round, segments in paths.items()
        for one in segments
        if one.kind == "busy"
    }
    lanes: dict[int, list[Bar]] = {}
    for (node, round), one in made.seen.found.items():
        by_lane: dict[int, tuple[int, int]] = {}
        for number in one.pieces:
            piece = made.pieces[number]
            start, end = by_lane.get(piece.lane, (piece.start, piece.end))
            by_lane[piece.lane] = min(start, piece.start), max(end, piece.end)
        its = made.declared.nodes[node]
        kind = {"load": "load", "capture": "replay"}.get(its.kind, "phase")
        facts = (("round", round), ("confidence", one.letter), ("spec", its.place))
        for lane, (start, end) in by_lane.items():
            bar = Bar(
                its.title,
                "collective" if its.collective else kind,
                start,
                end,
                (node, round) in on_path,
                facts=facts,
            )
            lanes.setdefault(lane, []).append(bar)
    for number, piece in enumerate(made.pieces):
        if made.found.nodes[number] < 0:
            name = made.trace.slices[piece.slice].name
            bar = Bar(name, "idle", piece.start, piece.end, facts=(("node", "none"),))
            lanes.setdefault(piece.lane, []).append(bar)
    for one in made.trace.slices:
        if one.kind == "wait" and one.lane in lanes:
            lanes[one.lane].append(Bar(one.name, "wait", one.start, one.end))
    drawn = tuple(
        Lane(
            made.trace.lanes[lane].name.strip() or made.trace.lanes[lane].stream,
            tuple(sorted(bars, key=lambda bar: (bar.start, -bar.end, bar.name))),
            made.trace.lanes[lane].device != "host",
        )
        for lane, bars in sorted(lanes.items())
    )
    return Group("measured", drawn, tuple(_path(made, paths)), tuple(_rounds(made)))


def _path(made: Aligned, paths: dict[int, list[Segment]]) -> Iterator[Bar]:
    for round, segments in sorted(paths.items()):
        for one in segments:
            facts = (("round", round),)
            name = made.declared.nodes[one.node].title if one.node is not None else ""
            if one.kind in ("busy", "bubble"):
                yield Bar(name, "phase", one.start, one.end, True, facts=facts)
            else:
                yield Bar(GAPS[one.kind], "idle", one.start, one.end, True, facts=facts)


def _rounds(made: Aligned) -> Iterator[Round]:
    for round in made.measured:
        if made.length(round):
            yield Round(f"round {round}", made.begins(round), made.over(round))


def _foretold(made: Aligned, profile: Profile) -> Group:
    """As many rounds, from where the first that was measured begins."""
    bucket = made.schedule.buckets.index(made.bucket)
    rounds = min(len(made.measured), MOST_FORETOLD)
    group = foretold_group(simulate(made.schedule, profile, [bucket] * rounds), "simulated")
    later = made.begins(made.measured[0])

    def moved(bars: tuple[Bar, ...]) -> tuple[Bar, ...]:
        return tuple(bar.replace(start=bar.start + later, end=bar.end + later) for bar in bars)

    return group.replace(
        lanes=tuple(lane.replace(bars=moved(lane.bars)) for lane in group.lanes),
        path=moved(group.path),
        rounds=tuple(
            one.replace(start=one.start + later, end=one.end + later) for one in group.rounds
        ),
    )
