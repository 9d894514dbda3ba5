"""All that an alignment says, as plain data: the page and the JSON form are made of it.

Times are whole nanoseconds. What is of many rounds is a median with the median of how far rounds stray
from it; who was last is counted; shares and cost per token are ratios of sums.
"""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from typing import Any

from plait.compiler.align.aligned import Aligned
from plait.compiler.align.edges import edges
from plait.compiler.align.exposed import exposed
from plait.compiler.align.gates import Segment, floor, path, signature
from plait.compiler.align.joins import joins
from plait.compiler.align.lanes import overlapping, strangers
from plait.compiler.align.padding import padding
from plait.compiler.align.ran import ran_otherwise
from plait.compiler.intervals import together, total
from plait.compiler.spread import mad, median
from plait.compiler.timing.accepted import Accepted


def report(made: Aligned, accepted: Accepted | None = None) -> dict[str, Any]:
    paths = {round: path(made, round) for round in made.measured}
    lengths = [made.length(round) for round in made.measured]
    found = edges(made)
    broken = [one for one in found if one.broken]
    return {
        "schedule": made.schedule.name,
        "variant": made.schedule.variant,
        "bucket": made.bucket.name,
        "trace": made.trace.file,
        "format": made.trace.format,
        "device": made.device,
        "rounds": {
            "whole": len(made.rounds),
            "partial": len(made.partial),
            "measured": len(made.measured),
        },
        "matched": matched_share(made),
        "edges": {"held": len(found) - len(broken), "checked": len(found)},
        "tolerance": made.tolerance,
        "round": _spread(lengths),
        "floor": floor(made, _durations(made)),
        **_tokens(made, accepted),
        "path": _path(made, paths),
        "signatures": _signatures(made, paths),
        "nodes": _nodes(made),
        "joins": _joins(made),
        "communication": _communication(made, paths),
        "padding": padding(made),
        "broken": [_broken(made, one) for one in broken],
        "overlaps": overlapping(made),
        "not_seen": {
            "nodes": [node.title for n, node in enumerate(made.declared.nodes) if _unseen(made, n)],
            "lanes": strangers(made),
        },
        "notes": _notes(made),
    }


def matched_share(made: Aligned) -> dict[str, Any]:
    """Of the nodes of all whole rounds those that were seen; a copy-in counts where any was."""
    wanted = [
        n
        for n, node in enumerate(made.declared.nodes)
        if node.kind != "load" or made.seen.expected(n)
    ]
    letters: Counter[str] = Counter()
    for node in wanted:
        letters.update(one.letter for one in made.instances(node))
    seen, declared = letters.total(), len(wanted) * len(made.rounds)
    busy = together((piece.start, piece.end) for piece in made.pieces)
    given = busy
    if -1 in made.found.nodes:
        given = together(
            (piece.start, piece.end)
            for piece, node in zip(made.pieces, made.found.nodes, strict=True)
            if node >= 0
        )
    return {
        "nodes": sum(made.seen.expected(node) for node in wanted),
        "declared": len(wanted),
        "seen": seen,
        "expected": declared,
        "share": ratio(seen, declared),
        "letters": {letter: letters[letter] for letter in "ABC"},
        "time": ratio(total(given), total(busy)),
    }


def ratio(a: int, b: int) -> float:
    """Rounded to four places, by whole numbers."""
    return (a * 10_000 // b) / 10_000 if b else 0.0


def _spread(values: list[int]) -> dict[str, int]:
    return {"median": median(values), "mad": mad(values), "rounds": len(values)}


def _unseen(made: Aligned, node: int) -> bool:
    return made.declared.nodes[node].kind != "load" and not made.seen.expected(node)


def _durations(made: Aligned) -> dict[int, int]:
    """Of every node that was seen how long something of it ran, in the middle of all rounds."""
    found = {}
    for node in range(len(made.declared.nodes)):
        times = [
            total(together((made.pieces[n].start, made.pieces[n].end) for n in one.pieces))
            for one in made.instances(node)
        ]
        if times:
            found[node] = median(times)
    return found


def letter(made: Aligned, node: int) -> str:
    """How surely a node was told: as in most rounds."""
    letters = Counter(one.letter for one in made.instances(node))
    return min(letters, key=lambda one: (-letters[one], one)) if letters else "-"


def _nodes(made: Aligned) -> list[dict[str, Any]]:
    found = []
    for number, node in enumerate(made.declared.nodes):
        seen = made.instances(number)
        if not seen:
            continue
        lanes = Counter(one.lane for one in seen)
        lane = made.trace.lanes[min(lanes, key=lambda one: (-lanes[one], one))]
        found.append(
            {
                "node": node.title,
                "stream": made.schedule.streams[node.stream].name,
                "lane": lane.name or lane.stream,
                "spec": node.place,
                "confidence": letter(made, number),
                **_spread([one.end - one.start for one in seen]),
            }
        )
    return found


def _path(made: Aligned, paths: dict[int, list[Segment]]) -> list[dict[str, Any]]:
    """What stands on the path, in the order in which it does, with its share of all rounds together."""
    known = [made.length(round) for round in paths]
    of: dict[tuple[str, int], Counter[int]] = {}
    for round, segments in paths.items():
        for one in segments:
            kind = "busy" if one.kind == "bubble" else one.kind
            node = -1 if one.node is None else one.node
            of.setdefault((kind, node), Counter())[round] += one.end - one.start
    bubbles: Counter[int] = Counter()
    for segments in paths.values():
        for one in segments:
            if one.kind == "bubble" and one.node is not None:
                bubbles[one.node] += one.end - one.start
    order = {"busy": 0, "latency": 1, "launch": 2, "front": 3, "unknown": 4}
    rows = []
    for (kind, node), times in sorted(of.items(), key=lambda one: (order[one[0][0]], one[0][1])):
        named = made.declared.nodes[node] if node >= 0 else None
        rows.append(
            {
                "kind": kind,
                "node": named.title if named else None,
                "stream": made.schedule.streams[named.stream].name if named else "",
                "median": median([times[round] for round in paths]),
                "total": times.total(),
                "bubble": bubbles[node] if kind == "busy" else 0,
                "share": ratio(times.total(), sum(known)),
                "rounds": sum(1 for round in paths if times[round]),
                "confidence": letter(made, node) if named else "",
            }
        )
    return rows


def _signatures(made: Aligned, paths: dict[int, list[Segment]]) -> list[dict[str, Any]]:
    """Which nodes are on the path, with in how many rounds; None: a part of it is not in the trace."""
    counted = Counter(signature(segments) for segments in paths.values())
    return [
        {
            "nodes": None if nodes is None else [made.declared.nodes[node].title for node in nodes],
            "rounds": times,
        }
        for nodes, times in sorted(counted.items(), key=lambda one: (-one[1], one[0] or ()))
    ]


def _joins(made: Aligned) -> list[dict[str, Any]]:
    found = []
    for join in joins(made):
        name = made.declared.nodes[join.target].title
        last = Counter(one.last for one in join.met if one.last is not None)
        waits: dict[int, list[int]] = {}
        for one in join.met:
            for source, time in one.waits:
                waits.setdefault(source, []).append(time)
        sources = []
        for order in join.sources:
            sources.append(
                {
                    "node": made.declared.nodes[order.source].title,
                    "rounds_back": order.rounds_back,
                    "last": last[order.source],
                    "waited": _spread(waits.get(order.source, [])),
                    "confidence": letter(made, order.source),
                }
            )
        found.append(
            {
                "join": name,
                "rounds": len(join.met),
                "unknown": sum(one.last is None for one in join.met),
                "sources": sources,
                "latency": _spread([one.latency for one in join.met if one.latency is not None]),
                "waits_seen": sum(one.seen for one in join.met),
            }
        )
    return found


def _communication(made: Aligned, paths: dict[int, list[Segment]]) -> list[dict[str, Any]]:
    return [
        {
            "node": made.declared.nodes[one.node].title,
            "rounds": len(one.total),
            "total": sum(one.total),
            "covered": sum(one.covered),
            "exposed": sum(one.exposed),
            "exposed_device_wide": sum(one.device_wide),
            "exposed_on_path": sum(one.on_path),
            "share": ratio(sum(one.exposed), sum(one.total)),
            "confidence": letter(made, one.node),
        }
        for one in exposed(made, paths)
    ]


def _tokens(made: Aligned, accepted: Accepted | None) -> dict[str, Any]:
    """Cost per token: the time of all rounds together by what they committed together."""
    counted = {one.number: one.accepted for one in made.trace.rounds if one.accepted is not None}
    rounds = [round for round in made.measured if counted.get(round)]
    if accepted is None and rounds:
        tokens = [counted[round] or 0 for round in rounds]
        total, committed = sum(made.length(round) for round in rounds), Fraction(sum(tokens))
        each = [made.length(round) // count for round, count in zip(rounds, tokens, strict=True)]
        said = "the trace"
    elif accepted is not None and made.measured:
        rounds = made.measured
        total = sum(made.length(round) for round in rounds)
        committed = accepted.mean * len(rounds)
        each = [int(made.length(round) / accepted.mean) for round in rounds]
        said = "--accept"
    else:
        return {"accepted": None, "cost_per_token": None}
    mean = committed / len(rounds)
    return {
        "accepted": {
            "a_round": int(mean * 1000) / 1000,
            "tokens": int(committed * 1000) / 1000,
            "from": said,
        },
        "cost_per_token": {"time": int(total / committed), **_spread(each)},
    }


def _broken(made: Aligned, one: Any) -> dict[str, Any]:
    nodes, order = made.declared.nodes, one.order
    early = [time for _, time in one.broken]
    return {
        "source": nodes[order.source].title,
        "target": nodes[order.target].title,
        "rounds_back": order.rounds_back,
        "kind": order.kind,
        "rounds": len(one.broken),
        "of": one.rounds,
        "early": median(early),
        "confidence": max(letter(made, order.source), letter(made, order.target)),
    }


def _notes(made: Aligned) -> list[str]:
    notes = [*ran_otherwise(made.trace, made.schedule), *made.trace.notes]
    others = sorted({one.device for one in made.trace.lanes} - {made.device, "host", "cpu", ""})
    if others:
        notes.append(f"only {made.device} was looked at; the trace has {', '.join(others)} too")
    unknown = [round for round in made.rounds if made.ends.get(round) is None]
    if unknown:
        notes.append(
            f"{len(unknown):,} rounds have no known end, as their last operation is not in the trace"
        )
    wanted = made.bucket.name
    other = Counter(one.bucket for one in made.trace.rounds if one.bucket not in ("", wanted))
    if other:
        names = ", ".join(f"{name} ({times})" for name, times in sorted(other.items()))
        notes.append(f"read as rounds at {wanted}; the trace has some at {names}")
    return notes
