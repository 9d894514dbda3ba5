"""Samples from a trace that `plait run --trace` wrote: it has the schedule, every round and every phase."""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import median_low
from typing import Any, NamedTuple

from plait.compiler.calibrate.samples import MOST, CalibrateError, Ran, Round, Samples
from plait.compiler.traces.expanded import MOST_BYTES, expanded
from plait.compiler.traces.trace_error import TraceError
from plait.runtime.schedule import HOST, Schedule

LONGEST = 1 << 62
"""Nanoseconds from the first moment of a trace."""
IN_STEP = 10
"""Percent that rounds of the host may differ from those of the streams, to stand for them."""
BEFORE = 2
"""Rounds that must be of the same sort before one that is counted."""


class _Slice(NamedTuple):
    start: int
    end: int
    kind: str
    name: str
    round: int
    capture: str
    """That holds it; empty: none."""


@dataclass
class _File:
    """What a trace says, each part known to be of its kind."""

    schedule: Schedule
    lanes: dict[str, list[_Slice]]
    """By start; a replay before what it holds."""
    reached: dict[str, int]
    """When records were, by what ties them to a wait."""
    waited: dict[str, tuple[str, int]]
    """The lane, and the end, of the wait for each."""
    rounds: list[tuple[int, int, int, int, bool]]
    """Number, bucket, when the host began it and had issued it, and whether it was traced."""
    beside: list[tuple[int, str, int, int]]
    """Bucket, phase, and what it took by itself and, at the same time, in its graph."""


def own_samples(
    path: Path, schedule_from: Callable[[str, str], Schedule], most: int = MOST_BYTES
) -> Samples:
    """`schedule_from` gives the Schedule of a JSON text, which it calls by a name in what it raises.

    Raises CalibrateError for a file that is no such trace, OSError, and what that does.
    """
    return _samples(_read(path, schedule_from, most), path.name)


# Reading


def _read(path: Path, schedule_from: Callable[[str, str], Schedule], most: int) -> _File:
    try:
        data = expanded(str(path), most)
    except TraceError as error:
        raise CalibrateError(str(error)) from None
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        raise CalibrateError(f"{path}: is not JSON") from None
    about = found.get("plait") if isinstance(found, dict) else None
    if not isinstance(about, dict) or not isinstance(found.get("traceEvents"), list):
        raise CalibrateError(
            f"{path}: does not say of which schedule it is: take one that `plait run --trace` wrote, or name "
            "what ran with `plait calibrate --spec`"
        )
    schedule = schedule_from(json.dumps(about.get("schedule")), f"{path}: plait.schedule")
    try:
        return _file(schedule, about, found["traceEvents"])
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        what = f"{type(error).__name__}: {error}"
        raise CalibrateError(f"{path}: is not as `plait run --trace` writes it ({what})") from None


def _file(schedule: Schedule, about: dict[str, Any], events: list[Any]) -> _File:
    buckets = {bucket.name: number for number, bucket in enumerate(schedule.buckets)}
    names: dict[int, str] = {}
    found = _File(schedule, {}, {}, {}, [], [])
    for event in events:
        if event["ph"] == "M" and event["name"] == "thread_name":
            names[event["tid"]] = str(event["args"]["name"])
    for event in events:
        if event["ph"] not in "Xsf":
            continue
        lane, start = names[event["tid"]], _time(event["ts"])
        if event["ph"] == "X":
            args = event["args"]
            one = _Slice(
                start,
                start + _length(event["dur"]),
                str(event["cat"]),
                str(event["name"]),
                int(args["round"]),
                str(args.get("capture", "")),
            )
            found.lanes.setdefault(lane, []).append(one)
        elif event["ph"] == "s":
            found.reached[str(event["id"])] = start
        else:
            found.waited[str(event["id"])] = lane, start
    for lane in found.lanes.values():
        lane.sort(key=lambda one: (one.start, -one.end))
    for one in about["rounds"]:
        at, issued = _time(one["at"]), _time(one["issued"])
        found.rounds.append(
            (int(one["number"]), buckets[one["bucket"]], at, issued, one["noted"] is True)
        )
    for one in about["beside"]:
        took, held = _length(one["took"]), _length(one["held"])
        found.beside.append((buckets[one["bucket"]], str(one["phase"]), took, held))
    return found


def _time(microseconds: Any) -> int:
    found = round(float(microseconds) * 1000)
    if abs(found) > LONGEST:
        raise ValueError("a time is longer than any trace")
    return found


def _length(microseconds: Any) -> int:
    found = _time(microseconds)
    if not 0 <= found <= MOST:
        raise ValueError("something takes less than nothing, or more than a quarter of an hour")
    return found


# Samples


def _samples(file: _File, name: str) -> Samples:
    schedule = file.schedule
    samples = Samples(files=[name], schedules=[schedule])
    bucket_of = {number: bucket for number, bucket, *_ in file.rounds}
    phases = {phase.name: number for number, phase in enumerate(schedule.phases)}
    busy = {lane: [s for s in slices if s.kind == "phase"] for lane, slices in file.lanes.items()}
    for lane, slices in file.lanes.items():
        for one in busy[lane]:
            number, bucket = phases.get(one.name), bucket_of.get(one.round)
            if number is None or bucket is None:
                continue
            phase = schedule.phases[number]
            rows, _ = schedule.buckets[bucket].work[number]
            others = (s for other, s in busy.items() if other != lane)
            beside = frozenset(
                schedule.phases[phases[s.name]].body
                for other in others
                for s in _over(other, one)
                if s.name in phases
            )
            took = one.end - one.start
            host = phase.stream == HOST
            samples.phases.append(Ran(phase.body, rows, took, bool(one.capture), beside, host))
        if lane != "host":
            _between(samples, slices)
    samples.phases += list(_at_capture(file, samples.phases))
    _syncs(samples, file)
    samples.issues += _issues(file)
    samples.rounds += _rounds(file)
    return samples


def _at_capture(file: _File, ran: Sequence[Ran]) -> Iterator[Ran]:
    """What captures tell beyond rounds: a phase in a graph at rows that did not run, and by itself at any.

    What else the machine did then may have been another thing than in the rounds, so its times count as
    they relate to others of then: to the same phase at rows that ran, and to its time in the graph.
    """
    seen: dict[tuple[str, int], list[int]] = {}
    for one in ran:
        if one.held:
            seen.setdefault((one.phase, one.rows), []).append(one.time)
    then: dict[tuple[str, int], list[tuple[int, int]]] = {}
    phases = {phase.name: number for number, phase in enumerate(file.schedule.phases)}
    for bucket, name, took, held in file.beside:
        if (number := phases.get(name)) is not None and held > 0:
            rows, _ = file.schedule.buckets[bucket].work[number]
            body = file.schedule.phases[number].body
            then.setdefault((body, rows), []).append((took, held))
    for (body, rows), pairs in then.items():
        now = seen.get((body, rows))
        if now is None:
            both = [
                (median_low(times), median_low([held for _, held in then[other]]))
                for other, times in seen.items()
                if other[0] == body and other in then
            ]
            if not both:
                continue
            rounds, captures = sum(one for one, _ in both), sum(one for _, one in both)
            now = [held * rounds // captures for _, held in pairs]
            yield from (Ran(body, rows, one, True) for one in now)
        around = median_low(now)
        yield from (Ran(body, rows, around * took // held, False) for took, held in pairs)


def _over(lane: Sequence[_Slice], one: _Slice) -> Iterator[_Slice]:
    """Those of another lane that ran for at least half of its time."""
    first = max(bisect_left(lane, (one.start,)) - 1, 0)
    for other in lane[first:]:
        if other.start >= one.end:
            break
        if 2 * (min(one.end, other.end) - max(one.start, other.start)) >= one.end - one.start > 0:
            yield other


def _between(samples: Samples, slices: Sequence[_Slice]) -> None:
    """What a stream takes between what runs on it."""
    outer = [one for one in slices if not one.capture]
    for before, one in pairwise(outer):
        if before.kind != "wait" and one.kind != "wait":
            samples.turns.append(one.start - before.end)
    samples.loads += [one.end - one.start for one in outer if one.kind == "load"]
    for replay in (one for one in outer if one.kind == "capture"):
        first = bisect_left(slices, (replay.start,))
        inside = []
        for one in slices[first:]:
            if one.start >= replay.end:
                break
            if one.capture:
                inside.append(one)
        if inside:
            samples.gaps += [b.start - a.end for a, b in pairwise(inside)]
            samples.edges.append(inside[0].start - replay.start + replay.end - inside[-1].end)


def _syncs(samples: Samples, file: _File) -> None:
    """What records and waits take, from those waits that held their stream up."""
    ends = {
        lane: sorted(s.end for s in slices if s.kind != "wait")
        for lane, slices in file.lanes.items()
    }
    starts = {
        lane: sorted(s.start for s in slices if s.kind != "wait")
        for lane, slices in file.lanes.items()
    }
    waits = {
        (lane, s.end): s for lane, slices in file.lanes.items() for s in slices if s.kind == "wait"
    }
    for key, (lane, end) in file.waited.items():
        at, wait = file.reached.get(key), waits.get((lane, end))
        if at is None or wait is None or wait.start >= at or lane == "host":
            continue
        following = bisect_left(starts[lane], end)
        if following < len(starts[lane]):
            samples.waits.append(starts[lane][following] - at)
    for at in file.reached.values():
        before = [
            at - found[place - 1]
            for found in ends.values()
            if (place := bisect_left(found, at + 1))
        ]
        samples.records.append(max(min(before, default=0), 0))


def _issues(file: _File) -> Iterator[int]:
    """Of each traced round, the host's time for an instruction, less what it did itself or waited for."""
    own = file.lanes.get("host", [])
    for _, bucket, at, issued, noted in file.rounds:
        if not noted:
            continue
        first = bisect_left(own, (at,))
        inside = 0
        for one in own[first:]:
            if one.start >= issued:
                break
            inside += one.end - one.start
        program = file.schedule.program_of(file.schedule.buckets[bucket])
        issuing = sum(one.on != HOST for one in program)
        if issuing and issued > at:
            yield max(issued - at - inside, 0) // issuing


def _rounds(file: _File) -> Iterator[Round]:
    """Rounds behind others of their bucket: by the ends of what they ran, or by when they were issued.

    The latter hold only where the host keeps step with the streams, which rounds that have both say.
    """
    ends: dict[int, int] = {}
    for lane, slices in file.lanes.items():
        for one in slices:
            if lane != "host" and one.kind != "wait":
                ends[one.round] = max(ends.get(one.round, 0), one.end)
    both: list[tuple[int, int]] = []
    quiet: list[Round] = []
    rows = file.rounds
    for place in range(BEFORE, len(rows) - 1):
        number, bucket, at, _, noted = rows[place]
        around = rows[place - BEFORE : place + 2]
        if any((one[1], one[4]) != (bucket, noted) for one in around):
            continue
        issued = rows[place + 1][2] - at
        if not noted:
            quiet.append(Round(0, bucket, issued, False))
        elif number in ends and number - 1 in ends:
            both.append((ends[number] - ends[number - 1], issued))
            yield Round(0, bucket, ends[number] - ends[number - 1], True)
    if both:
        streams = median_low([one for one, _ in both])
        host = median_low([one for _, one in both])
        if abs(host - streams) * 100 <= IN_STEP * streams:
            yield from quiet
