"""Samples from a trace that `plait run --trace` wrote: it has the schedule, every round and every phase."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from statistics import median_low

from plait.compiler.calibrate.own_trace import OwnSlice, OwnTrace, read_own
from plait.compiler.calibrate.samples import Ran, Round, Samples
from plait.compiler.traces.expanded import MOST_BYTES
from plait.runtime.schedule import HOST, Schedule

IN_STEP = 10
"""Percent that rounds of the host may differ from those of the streams, to stand for them."""
BEFORE = 2
"""Rounds that must be of the same sort before one that is counted."""


def own_samples(
    path: Path, schedule_from: Callable[[str, str], Schedule], most: int = MOST_BYTES
) -> Samples:
    """As `read_own` takes and raises them."""
    return _samples(read_own(path, schedule_from, most), path.name)


def _samples(file: OwnTrace, name: str) -> Samples:
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


def _at_capture(file: OwnTrace, ran: Sequence[Ran]) -> Iterator[Ran]:
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


def _over(lane: Sequence[OwnSlice], one: OwnSlice) -> Iterator[OwnSlice]:
    """Those of another lane that ran for at least half of its time."""
    first = max(bisect_left(lane, (one.start,)) - 1, 0)
    for other in lane[first:]:
        if other.start >= one.end:
            break
        if 2 * (min(one.end, other.end) - max(one.start, other.start)) >= one.end - one.start > 0:
            yield other


def _between(samples: Samples, slices: Sequence[OwnSlice]) -> None:
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


def _syncs(samples: Samples, file: OwnTrace) -> None:
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


def _issues(file: OwnTrace) -> Iterator[int]:
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


def _rounds(file: OwnTrace) -> Iterator[Round]:
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
