"""Alignment: reading and aligning 100,000 events, against reading their JSON, and against half as many.

The trace is that of a round simulated again and again, each phase as many kernels, damaged as in the tests.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path
from random import Random

from plait.bench.paired import Pair, paired, spent
from plait.compiler.align.aligned import align
from plait.compiler.align.report import report
from plait.compiler.compile import Asked, compile_source, read_source
from plait.compiler.traces.expanded import keeping_all
from plait.compiler.traces.read import read_trace
from plait.runtime.schedule import Schedule

ROOT = Path(__file__).parents[1]
SIZES = (12_500, 25_000, 50_000, 100_000)
KERNELS = 40
"""Of a phase at most."""


@cache
def compiled() -> Schedule:
    return compile_source(read_source(ROOT / "benchmarks/align.spec"), Asked())


def written(folder: Path, events: int) -> Path:
    """A trace of about so many events."""
    sys.path.insert(0, str(ROOT / "tests"))
    from drawing.traces import damaged, traced

    schedule = compiled()
    one = len(list(traced(Random(3), schedule, 8, "host", KERNELS).events())) / 8
    made = traced(Random(3), schedule, round(events / one), "host", KERNELS)
    return damaged(Random(4), made).write(folder / f"{events}.json")


def aligned(path: Path) -> None:
    schedule = compiled()
    with keeping_all():
        report(align(schedule, schedule.widest, read_trace(str(path))))


def loaded(path: Path) -> None:
    with path.open(encoding="utf-8") as file:
        json.load(file)


def run(turns: int = 5) -> Iterator[Pair]:
    with tempfile.TemporaryDirectory() as held:
        paths = {size: written(Path(held), size) for size in SIZES}
        largest = paths[SIZES[-1]]
        yield paired(
            "reading and aligning a trace of 100,000 events / json.load of it",
            lambda: spent(lambda: aligned(largest)),
            lambda: spent(lambda: loaded(largest)),
            turns,
            most=6,
        )
        for half, whole in pairwise(SIZES):
            yield paired(
                f"reading and aligning {whole:,} events / {half:,}",
                lambda path=paths[whole]: spent(lambda: aligned(path)),
                lambda path=paths[half]: spent(lambda: aligned(path)),
                turns,
                most=2.6,
            )
