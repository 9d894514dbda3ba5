"""Rows put in order: slices by time, with what launched them, replays, joins, windows and rounds."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Hashable

from plait.compiler.traces.model import Coverage, Join, Replay, Slice, Trace
from plait.compiler.traces.overlaps import overlaps
from plait.compiler.traces.rows import DEVICE_WORK, HOST, Rows, Wait
from plait.compiler.traces.trace_error import TraceError
from plait.compiler.traces.windows import marked

NO_PHASE = "", -1


def gathered(rows: Rows) -> Trace:
    """Raises TraceError for a file in which nothing took time."""
    if not rows.rows:
        raise TraceError(
            f"{rows.file}: nothing in it took time on a stream or a thread ({rows.format})"
            + (f"; not understood: {', '.join(sorted(rows.unknown)[:5])}" if rows.unknown else "")
        )
    rows.rows.sort()
    zero = rows.rows[0][0]
    trace = Trace(rows.file, rows.format, zero, rows.lanes)
    launches = _launches(rows)
    places = [0] * len(rows.rows)
    of_graphs: dict[Hashable, list[int]] = {}
    issuers: list[tuple[int, int, int]] = []
    _slices(rows, trace, launches, places, of_graphs, issuers)
    trace.flows += [(places[launch], places[number]) for number, launch in rows.launches.items()]
    trace.flows.sort()
    trace.replays = _replays(rows, trace, launches, places, of_graphs)
    trace.joins = _joins(rows, trace)
    trace.coverage = _coverage(rows, trace)
    trace.rounds = [one._replace(start=one.start - zero, end=one.end - zero) for one in rows.rounds]
    trace.arrows = rows.arrows
    trace.stated = rows.stated
    trace.about = rows.about
    trace.notes = rows.notes
    marked(trace, issuers, rows.unknown)
    trace.unknown = dict(sorted(rows.unknown.items()))
    trace.overlaps = overlaps(trace)
    _said(trace)
    return trace


def _launches(rows: Rows) -> dict[int, int]:
    """By correlation, the place of the host's call that launched; of several the innermost."""
    hosts = [lane.device == HOST for lane in rows.lanes]
    found: dict[int, int] = {}
    for place, row in enumerate(rows.rows):
        if row[6] >= 0 and hosts[row[3]]:
            found[row[6]] = place
    return found


def _slices(
    rows: Rows,
    trace: Trace,
    launches: dict[int, int],
    places: list[int],
    of_graphs: dict[Hashable, list[int]],
    issuers: list[tuple[int, int, int]],
) -> None:
    """Fills all that is given: the trace's slices and flows, by number the place, what replays hold, and
    of what a device did when and by which lane it was asked for."""
    zero, slices, lanes = trace.zero, trace.slices, rows.lanes
    hosts = [lane.device == HOST for lane in lanes]
    graphs, phases, asked = rows.graphs, rows.phases, rows.issuers
    shared = rows.launches_share
    first: dict[tuple[str, int], int] = {}
    new = tuple.__new__
    for place, (start, end, number, lane, name, kind, correlation, issued) in enumerate(rows.rows):
        places[number] = place
        phase, round = phases.get(number, NO_PHASE)
        issued = issued - zero if issued >= 0 else -1
        if correlation >= 0 and not hosts[lane]:
            launch = launches.get(correlation, -1)
            if launch >= 0:
                if number not in rows.launches:
                    trace.flows.append((launch, place))
                if issued < 0:
                    issued = rows.rows[launch][0] - zero
                if kind in DEVICE_WORK and number not in asked:
                    issuers.append((issued, rows.rows[launch][3], place))
            if (
                shared
                and kind in DEVICE_WORK
                and number not in graphs
                and (launch < 0 or "GraphLaunch" in rows.rows[launch][4])
            ):
                key = lanes[lane].device, correlation
                before = first.setdefault(key, place)
                if before != place:
                    of_graphs.setdefault(key, [before]).append(place)
                elif launch >= 0:
                    of_graphs[key] = [place]
        if number in graphs:
            of_graphs.setdefault(graphs[number], []).append(place)
        if number in asked:
            when, who = asked[number]
            issuers.append((when - zero, who, place))
        slices.append(
            new(
                Slice,
                (lane, start - zero, end - zero, name, kind, correlation, -1, phase, round, issued),
            )
        )


def _replays(
    rows: Rows,
    trace: Trace,
    launches: dict[int, int],
    places: list[int],
    of_graphs: dict[Hashable, list[int]],
) -> list[Replay]:
    """By start."""
    found: list[Replay] = []
    slices = trace.slices
    for key, members in of_graphs.items():
        launch = launches.get(slices[members[0]].correlation, -1)
        if key in rows.graph_launches:
            launch = places[rows.graph_launches[key]]
        row = places[rows.whole_replays[key]] if key in rows.whole_replays else -1
        around = [*members] if row < 0 else [row]
        start = min(slices[place].start for place in around)
        end = max(slices[place].end for place in around)
        name = rows.graph_names.get(key, "")
        found.append(Replay(launch, tuple(members), name, start, end, row))
    found.sort(key=lambda one: (one.start, one.slices))
    for number, replay in enumerate(found):
        for place in {*replay.slices, replay.row} - {-1}:
            slices[place] = slices[place]._replace(replay=number)
    return found


def _joins(rows: Rows, trace: Trace) -> list[Join]:
    """By when the lane came to them."""
    wanted = {lane for wait in rows.waits for lane in (wait.waiter, wait.source_lane)}
    by_lane: dict[int, list[int]] = {lane: [] for lane in wanted}
    for place, one in enumerate(trace.slices):
        if one.lane in by_lane and one.kind in DEVICE_WORK and not trace.is_around(place):
            by_lane[one.lane].append(place)
    slices = trace.slices
    by_order = {
        lane: sorted((slices[place].correlation, place) for place in of_lane)
        for lane, of_lane in by_lane.items()
    }
    by_end = {
        lane: sorted((slices[place].end, place) for place in of_lane)
        for lane, of_lane in by_lane.items()
    }
    starts = {lane: [slices[place].start for place in of_lane] for lane, of_lane in by_lane.items()}

    def source(wait: Wait) -> int:
        """What the recorded lane did last before the record, whatever its thread launched last."""
        lane = wait.source_lane
        if lane < 0 or (wait.record < 0 and wait.record_at < 0):
            return -1
        if wait.record >= 0:
            before = bisect_left(by_order[lane], (wait.record, -1))
            return by_order[lane][before - 1][1] if before else -1
        before = bisect_right(by_end[lane], (wait.record_at - trace.zero, len(slices)))
        return by_end[lane][before - 1][1] if before else -1

    def then(wait: Wait) -> int:
        lane = wait.waiter
        if wait.order >= 0:
            behind = bisect_right(by_order[lane], (wait.order, len(slices)))
            return by_order[lane][behind][1] if behind < len(by_order[lane]) else -1
        behind = bisect_left(starts[lane], max(wait.at, wait.until) - trace.zero)
        return by_lane[lane][behind] if behind < len(by_lane[lane]) else -1

    return sorted(
        Join(
            wait.waiter,
            wait.at - trace.zero,
            source(wait),
            wait.source_lane,
            wait.until - trace.zero if wait.until >= 0 else -1,
            then(wait),
        )
        for wait in rows.waits
    )


def _coverage(rows: Rows, trace: Trace) -> Coverage:
    seen = {launch for launch, _ in trace.flows} | {replay.launch for replay in trace.replays}
    counts = [0, 0, 0, 0]
    for place, one in enumerate(trace.slices):
        if one.kind == "launch" and rows.lanes[one.lane].device == HOST:
            graph = 2 * ("GraphLaunch" in one.name)
            counts[graph] += 1
            counts[graph + 1] += place in seen
    executed = set(rows.graph_launches.values())
    counts[2] += len(rows.executes)
    counts[3] += sum(number in executed for number in rows.executes)
    return Coverage(*counts)


def _said(trace: Trace) -> None:
    """Notes what a reader of totals must know first."""
    kernels, kernels_seen, graphs, graphs_seen = trace.coverage
    if graphs_seen < graphs:
        trace.notes.append(
            f"low coverage: of {graphs:,} graph launches {graphs - graphs_seen:,} have no kernel in the trace"
        )
    if kernels_seen < kernels:
        trace.notes.append(
            f"of {kernels:,} launches {kernels - kernels_seen:,} have nothing in the trace that they launched"
        )
    largest: dict[str, int] = {}
    for replay in trace.replays:
        if replay.graph:
            largest[replay.graph] = max(largest.get(replay.graph, 0), len(replay.slices))
    short = [r for r in trace.replays if r.graph and 2 * len(r.slices) < largest[r.graph]]
    if short:
        trace.notes.append(
            f"low coverage: {len(short):,} of {len(trace.replays):,} replays hold less than half of what the "
            "same graph holds in another"
        )
