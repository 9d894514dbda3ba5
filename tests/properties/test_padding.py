"""Undefined rows, followed by regions, against every cell followed by itself."""

from __future__ import annotations

from collections import Counter

from hypothesis import given, settings

from drawing.padded import padded_texts, slow_undefined
from plait.compiler.elaboration.elaborate import elaborate
from plait.compiler.order import order
from plait.compiler.rules import undefined_rows
from plait.compiler.target import load_target
from plait.dsl.diagnostic import Report
from plait.dsl.library import load_library
from plait.dsl.settings import settings_for
from plait.dsl.span import Source

SEEN: Counter[bool] = Counter()


@given(padded_texts())
@settings(max_examples=400)
def test_rows_are_refused_just_when_a_poisoned_cell_is_mixed_in(text: str) -> None:
    """Past the live rows everything is poisoned; a phase across rows mixes it in just when it is refused."""
    library = load_library(Source("test.spec", text))
    (pipeline,) = library.file.pipelines
    report = Report()
    rounds = elaborate(pipeline, library, settings_for(library.file, pipeline), report)
    assert not report.errors, (text, report.errors)
    for round, live in zip(rounds, (1, rounds[0].sizes["bs"] + 1), strict=True):
        found = undefined_rows.check(round, order(round), load_target("cpu"))
        facts = [dict(one.facts) for one in found]
        said = {(one["phase"], one["buffer"]) for one in facts}
        assert said == slow_undefined(round, live), (round.where, text)
        SEEN[bool(said)] += 1


def test_both_verdicts_were_drawn_often() -> None:
    """Neither agreeing on nothing nor refusing everything shows much."""
    assert min(SEEN[True], SEEN[False]) > 100
