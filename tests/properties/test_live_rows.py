"""Rows that only pad, filled with one thing and with another: no row of a request can tell."""

from __future__ import annotations

from collections import Counter

from hypothesis import given, settings

from drawing.padded import SHAPES, padded_texts, rowwise
from drawing.running import lowered
from plait.compiler.elaboration.elaborate import elaborate
from plait.compiler.order import order
from plait.compiler.round import Buffer
from plait.compiler.rules import undefined_rows
from plait.compiler.target import load_target
from plait.dsl.diagnostic import Report
from plait.dsl.library import load_library
from plait.dsl.settings import settings_for
from plait.dsl.span import Source

LIVE = (4, 1, 3, 4, 2, 1, 4)
NEW = 5
"""What a row holds when a request comes to it."""
SEEN: Counter[bool] = Counter()


def _written(buffer: Buffer) -> str:
    sizes = zip(buffer.axes, buffer.shape or (), strict=True)
    return f"[{', '.join('bs' if axis else str(size) for axis, size in sizes)}]"


@given(padded_texts(fenced=True))
@settings(max_examples=100)
def test_live_rows_do_not_depend_on_what_the_others_hold(text: str) -> None:
    """Before each round all rows past the live ones, those with a pad too, hold a canary."""
    library = load_library(Source("test.spec", text))
    (pipeline,) = library.file.pipelines
    report = Report()
    rounds = elaborate(pipeline, library, settings_for(library.file, pipeline), report)
    orders = [order(round) for round in rounds]
    target = load_target("cpu")
    sound = not any(undefined_rows.check(one.round, one, target) for one in orders)
    SEEN[sound] += 1
    if not sound:
        return
    schedule = lowered(*rounds)
    axes = [SHAPES[_written(buffer)] for buffer in rounds[0].buffers]

    def run(canary: int) -> list[list[int]]:
        """Of every round, what its copy of each buffer holds in the end, in rows that are live."""
        live: list[int] = []
        bodies = {phase.name: rowwise(phase, axes, live) for phase in rounds[0].phases}
        found = []
        with schedule.bind(bodies, arena=False) as runner:
            kept = 0
            for rows in LIVE:
                live.append(rows)
                for axis, copies in zip(axes, runner._buffers, strict=True):
                    for copy in copies if axis is not None else ():
                        copy.movedim(axis, 0)[kept:rows] = NEW
                        copy.movedim(axis, 0)[rows:] = canary
                kept = rows
                runner.step(bs=rows)
                runner.drain()
                for axis, copies in zip(axes, runner._buffers, strict=True):
                    now = copies[(len(live) - 1) % 2]
                    found.append((now if axis is None else now.movedim(axis, 0)[:rows]).tolist())
        return found

    assert run(1_000_000_007) == run(-13), text


def test_both_kinds_were_drawn_often() -> None:
    """Rounds that mix undefined rows in are refused, and left out here."""
    assert SEEN[True] > 50
