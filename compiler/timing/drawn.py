"""A timeline for a terminal: a row a lane, `#` where a span decides when the round ends, `-` elsewhere."""

from __future__ import annotations

from collections.abc import Iterator

from plait.compiler.timing.simulate import Simulation
from plait.compiler.timing.timeline import Lane, decisive, lanes

WIDTH = 100
"""Columns of the time axis."""
MOST_ROWS = 12
"""Rows of the table of what is on the path."""


def drawn(found: Simulation, width: int = WIDTH) -> str:
    return "\n".join([*_head(found), "", *_axis(found, width), "", *_path(found)]) + "\n"


def _head(found: Simulation) -> Iterator[str]:
    schedule, rounds = found.schedule, found.round_times()
    bucket = schedule.buckets[found.buckets[-1]].name
    each = f"{shown(rounds[-1])} a round" if len(rounds) > 1 else f"{shown(found.end)}"
    yield f"{schedule.name} at {bucket}, simulated with the costs of {found.profile.name}: {each}"
    if len(rounds) > 1:
        yield f"{len(rounds)} rounds in {shown(found.end)}; the first takes {shown(rounds[0])}"


def _axis(found: Simulation, width: int) -> Iterator[str]:
    made = lanes(found)
    margin = max((len(lane.name) for lane in made), default=0)
    for lane in made:
        yield f"{lane.name:<{margin}} {_row(lane, found.end, width)}".rstrip()
    yield f"{'':<{margin}} 0{shown(found.end):>{width - 1}}"


def _row(lane: Lane, end: int, width: int) -> str:
    """Names stand within the spans that have room for them."""
    cells = [" "] * width
    for bar in lane.bars:
        first = bar.start * width // max(end, 1)
        last = max(-(-bar.end * width // max(end, 1)), first + 1)
        fill = "#" if bar.on_path else "-"
        cells[first:last] = fill * (min(last, width) - first)
        room = last - first - 2
        if room >= len(bar.name):
            cells[first + 1 : first + 1 + len(bar.name)] = bar.name
        if last - first > 2:
            cells[first] = "["
    return "".join(cells[:width])


def _path(found: Simulation) -> Iterator[str]:
    rows = list(decisive(found))
    yield f"what decides it, of {shown(found.end)}:"
    for kind, name, time in rows[:MOST_ROWS]:
        share = 100 * time / max(found.end, 1)
        yield f"  {shown(time):>10} {share:5.1f} %  {kind} {name}".rstrip()
    if len(rows) > MOST_ROWS:
        rest = sum(time for _, _, time in rows[MOST_ROWS:])
        yield f"  {shown(rest):>10} {100 * rest / max(found.end, 1):5.1f} %  {len(rows) - MOST_ROWS} more"


def shown(time: int) -> str:
    """Nanoseconds in the largest unit that leaves a digit before the point: `8.42 ms`."""
    for unit, each in (("s", 10**9), ("ms", 10**6), ("us", 10**3)):
        if time >= each:
            return f"{time / each:.3g} {unit}" if time < 1000 * each else f"{time // each:,} {unit}"
    return f"{time} ns"
