"""What stands in a trace, for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from plait.compiler.traces.summary import Summary
from plait.dsl.render.cut import cut
from plait.dsl.render.figures import counted
from plait.dsl.render.printable import printable

MOST = 10
"""Of anything that there may be very many of."""
LONGEST = 60
"""Letters of a name."""


def text(found: Summary) -> str:
    parts = (
        _head,
        _lanes,
        _replays,
        _joins,
        _rounds,
        _ranges,
        _arrows,
        _stated,
        _findings,
        _unknown,
    )
    return "".join(f"{line.rstrip()}\n" for part in parts for line in part(found))


def micros(time: int) -> str:
    """All of it: `1,790.457`."""
    sign = "-" if time < 0 else ""
    return f"{sign}{abs(time) // 1000:,}.{abs(time) % 1000:03}"


def _head(found: Summary) -> Iterator[str]:
    trace = found.trace
    yield f"{printable(trace.file)}: {trace.format}, times in us"
    for name, said in trace.about.items():
        yield f"  {name:<14} {_short(said)}"
    yield f"  {'span':<14} {micros(found.span):>16}   of {micros(trace.end)} in the trace"
    for kind, slices, time in found.kinds:
        yield f"  {kind:<14} {micros(time):>16}   in {counted(slices, 'slice')}"


def _lanes(found: Summary) -> Iterator[str]:
    lanes = found.trace.lanes
    names = [_short(f"{lanes[one.lane].device} {lanes[one.lane].name}") for one in found.lanes]
    width = max(map(len, names), default=0)
    if names:
        yield f"{'lanes':<{width + 2}} {'slices':>8} {'busy':>16} {'wait':>16} {'idle':>16}"
    for name, one in zip(names, found.lanes, strict=True):
        times = " ".join(f"{micros(time):>16}" for time in (one.busy, one.wait, one.idle))
        yield f"  {name:<{width}} {one.slices:>8,} {times}"
    kernels, kernels_seen, graphs, graphs_seen = found.trace.coverage
    seen = kernels_seen + graphs_seen
    if found.threads:
        launched = f", {counted(kernels + graphs, 'launch', 'launches')}, of {seen:,} with what they launched"
        yield f"  and {counted(found.threads, 'thread')} of the host{launched if kernels + graphs else ''}"


def _replays(found: Summary) -> Iterator[str]:
    if not found.replays:
        return
    trace = found.trace
    launched = sum(replay.launch >= 0 for replay in trace.replays)
    yield f"replays {len(trace.replays):,}, of {launched:,} the launch is in the trace"
    rows = sorted(found.replays, key=lambda one: -one.time)
    for graph, size, count, time in rows[:MOST]:
        name = f"graph {_short(graph)}: " if graph else ""
        yield f"  {name}{count:,} of {counted(size, 'slice')}, {micros(time // count)} each"
    yield from _more(rows)


def _joins(found: Summary) -> Iterator[str]:
    trace = found.trace
    if not trace.joins:
        return
    known = sum(join.source >= 0 for join in trace.joins)
    yield f"joins {len(trace.joins):,}, of {known:,} the trace says what they wait for"
    pairs: dict[tuple[str, str], int] = {}
    for join in trace.joins:
        source = trace.lanes[join.source_lane] if join.source_lane >= 0 else None
        pair = source.name if source else "?", trace.lanes[join.waiter].name
        pairs[pair] = pairs.get(pair, 0) + 1
    rows = sorted(pairs.items(), key=lambda one: (-one[1], one[0]))
    for (source, waiter), count in rows[:MOST]:
        yield f"  {_short(waiter)} waits for {_short(source)}: {count:,}"
    yield from _more(rows)


def _rounds(found: Summary) -> Iterator[str]:
    rounds = found.trace.rounds
    if not rounds:
        return
    yield f"rounds {len(rounds):,} marked"
    for one in rounds[:MOST]:
        sizes = ", ".join(f"{_short(dim)}={size}" for dim, size in one.live)
        facts = [_short(one.bucket), sizes and f"live {sizes}"]
        facts += ["" if one.accepted is None else f"{counted(one.accepted, 'token')} committed"]
        facts += ["idle" if one.idle else ""]
        told = "; ".join(fact for fact in facts if fact)
        yield f"  {one.number:>6} {micros(one.end - one.start):>16}   {told}"
    yield from _more(rounds)


def _ranges(found: Summary) -> Iterator[str]:
    if not found.ranges:
        return
    windows = counted(len(found.trace.windows), "window")
    yield f"ranges {windows} of {counted(len(found.ranges), 'name')}"
    for name, how, windows, slices, time in found.ranges[:MOST]:
        told = f"{counted(windows, 'window')}, {counted(slices, 'slice')}, {how}"
        yield f"  {micros(time):>16}   {_short(name)} ({told})"
    yield from _more(found.ranges)


def _arrows(found: Summary) -> Iterator[str]:
    for category, pairs, no_start, no_end in found.trace.arrows:
        rest = [f"{no_start:,} without a start"] * (no_start > 0)
        rest += [f"{no_end:,} without an end"] * (no_end > 0)
        yield f"arrows {_short(category)}: {', '.join([counted(pairs, 'pair'), *rest])}"


def _stated(found: Summary) -> Iterator[str]:
    if found.trace.stated:
        yield "the profiler itself says"
    for name, time in sorted(found.trace.stated.items())[:MOST]:
        yield f"  {micros(time):>16}   {_short(name)}"


def _findings(found: Summary) -> Iterator[str]:
    trace = found.trace
    if trace.overlaps:
        one, other = (trace.slices[place] for place in trace.overlaps[0])
        yield (
            f"overlaps {len(trace.overlaps):,}: on {_short(trace.lanes[one.lane].name)} {_short(other.name)} "
            f"began {micros(one.end - other.start)} before {_short(one.name)} had ended; no stream does that"
        )
    for note in trace.notes:
        yield f"note: {printable(note)}"


def _unknown(found: Summary) -> Iterator[str]:
    rows = sorted(found.trace.unknown.items(), key=lambda one: (-one[1], one[0]))
    if rows:
        yield "not understood"
    for name, count in rows[:MOST]:
        yield f"  {count:>8,}   {_short(name)}"
    yield from _more(rows)


def _more(rows: Sequence[object]) -> Iterator[str]:
    if len(rows) > MOST:
        yield f"  and {len(rows) - MOST:,} more"


def _short(name: str) -> str:
    return cut(name, LONGEST)
