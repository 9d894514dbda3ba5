"""Every example, traced by a simulation and aligned with itself."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from drawing.aligning import untrue
from drawing.traces import damaged, traced
from plait.compiler.align.aligned import align
from plait.compiler.align.report import report
from plait.compiler.align.text import text
from plait.compiler.compile import Asked, compile_source, read_source
from plait.compiler.traces.read import read_trace

EXAMPLES = sorted((Path(__file__).parents[3] / "examples").glob("*.spec"))
TARGETS = {"deepseek_v4": "ascend910c"}


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_is_told_from_its_marks(path: Path, tmp_path: Path) -> None:
    """Whole with everything known, then damaged with nothing wrong; no order is broken in either."""
    target = TARGETS.get(path.stem, "cpu")
    schedule = compile_source(read_source(path), Asked(target=target))
    for damage in (False, True):
        made = traced(Random(5), schedule, 6, "host")
        if damage:
            damaged(Random(6), made)
        trace = read_trace(str(made.write(tmp_path / "run.json")))
        its = align(schedule, schedule.widest, trace)
        found = report(its)
        assert untrue(made, its, damage) == []
        assert found["broken"] == []
        assert text(found).startswith(f"schedule {schedule.name}")
        if not damage:
            assert found["matched"]["share"] == 1.0
