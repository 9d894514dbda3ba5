"""A timeline for a terminal: a row a lane, and the critical path.

`#` is what is on the critical path, `-` what is not, `.` a lane that waits for another.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

from plait.compiler.timing.path import Segment
from plait.compiler.timing.simulate import Simulation
from plait.compiler.timing.ticks import ticks
from plait.compiler.timing.timeline import Bar, Lane, Wait, decisive, lanes, last_round
from plait.dsl.render.cut import cut
from plait.dsl.render.figures import percent, shown
from plait.dsl.render.printable import printable

COLUMNS = 100
"""Where nobody knows how wide the terminal is."""
LEAST = 24
"""Columns of the time axis."""
LONGEST_LABEL = 24
TICK = 12
"""Columns of a mark of the axis, at least."""
MOST_ROWS = 12
"""Rows of the table of what is on the path."""


def drawn(found: Simulation, columns: int = COLUMNS) -> str:
    """Of several rounds the last, which the first ones no longer have a part in."""
    path = last_round(found)
    start = path[0].start if path else 0
    parts = [*_head(found), "", *_axis(found, start, columns), "", *_path(found, path)]
    return "\n".join(parts) + "\n"


def _head(found: Simulation) -> Iterator[str]:
    schedule, rounds = found.schedule, found.round_times()
    bucket = schedule.buckets[found.buckets[-1]].name
    each = f"{shown(rounds[-1])} a round" if len(rounds) > 1 else f"{shown(found.end)}"
    costs = printable(found.profile.name)
    yield f"{printable(schedule.name)} at {bucket}, simulated with the costs of {costs}: {each}"
    if len(rounds) > 1:
        yield f"{len(rounds)} rounds in {shown(found.end)}; the first takes {shown(rounds[0])}"


def _axis(found: Simulation, start: int, columns: int) -> Iterator[str]:
    from rich.cells import cell_len, set_cell_size

    made = lanes(found)
    names = [cut(lane.name, min(columns // 4, LONGEST_LABEL)) for lane in made]
    margin = max(map(cell_len, names), default=0)
    width = max(columns - margin - 1, LEAST)
    length = max(found.end - start, 1)
    for name, lane in zip(names, made, strict=True):
        yield f"{set_cell_size(name, margin)} {_row(lane, start, length, width)}".rstrip()
    marks = ""
    for at, label in ticks(length, width // TICK):
        column = at * width // length
        if column + len(label) <= width:
            marks = f"{marks:<{column}}{label}"
    yield f"{'':<{margin}} {marks}"


def _row(lane: Lane, start: int, length: int, width: int) -> str:
    """Names stand within the spans that have room for them."""
    cells = [" "] * width

    def columns(one: Bar | Wait) -> tuple[int, int]:
        first = max(one.start - start, 0) * width // length
        return first, max(-(-(one.end - start) * width // length), first + 1)

    for wait in lane.waits:
        if wait.end > start:
            first, last = columns(wait)
            cells[first:last] = "." * (min(last, width) - first)
    for bar in lane.bars:
        if bar.end > start:
            first, last = columns(bar)
            fill = "." if bar.kind == "wait" else "#" if bar.on_path else "-"
            if last - first > 1 or fill == "#" or cells[first] in " .":
                cells[first:last] = _named(bar.name, fill, min(last, width) - first)
    return "".join(cells[:width])


def _named(name: str, fill: str, room: int) -> list[str]:
    """Cells of a span; that behind a wide character is empty."""
    from rich.cells import cell_len

    cells = [fill] * room
    if room > 2:
        cells[0] = "["
        place = 1
        for character in cut(name, room - 2, least=4):
            wide = cell_len(character)
            cells[place : place + wide] = [character, *[""] * (wide - 1)]
            place += wide
    return cells


def _path(found: Simulation, path: Sequence[Segment]) -> Iterator[str]:
    rows = list(decisive(found, path))
    whole = sum(time for _, _, time in rows)
    yield f"critical path{called(found)}, {shown(whole)}:"
    for kind, name, time in rows[:MOST_ROWS]:
        yield f"  {shown(time):>10} {percent(Fraction(time, whole)):>7}  {kind} {printable(name)}".rstrip()
    if len(rows) > MOST_ROWS:
        rest = sum(time for _, _, time in rows[MOST_ROWS:])
        yield f"  {shown(rest):>10} {percent(Fraction(rest, whole)):>7}  {len(rows) - MOST_ROWS} more"


def called(found: Simulation) -> str:
    """Which round is the last, if there are several."""
    return f" of round {len(found.buckets) - 1}" if len(found.buckets) > 1 else ""
