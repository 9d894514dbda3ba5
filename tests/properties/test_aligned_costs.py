"""Costs from traces of other profilers: what was drawn as known truth is what is measured."""

from __future__ import annotations

from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from drawing.aligning import aligned
from drawing.traces import truth
from plait.compiler.calibrate.aligned import aligned_samples, ran
from plait.compiler.calibrate.fit import fitted
from plait.runtime.schedule import HOST


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32))
def test_phases_and_graphs_take_what_they_took(seed: int) -> None:
    """Every phase outside graphs to the nanosecond, and of a graph all that its phases share."""
    found = aligned(Random(seed), damage=False)
    if found is None:
        return
    made, its = found
    spans = truth(made, its.trace.zero).spans
    samples = aligned_samples(its)
    for phase in its.schedule.phases:
        here = {one.time for one in samples.phases if one.phase == phase.body and not one.held}
        if phase.capture is None and phase.stream != HOST:
            assert here <= {
                end - start for (name, _), (start, end) in spans.items() if name == phase.name
            }
    for capture in its.schedule.captures:
        whole = {end - start for (name, _), (start, end) in spans.items() if name == capture.name}
        for one in (one for round in its.rounds for one in its.of(round)):
            node = its.declared.nodes[one.node]
            if (node.kind, node.name) == ("capture", capture.name) and one.begins and one.ends:
                took = sum(each.time for each in ran(its, one))
                assert any(0 <= each - took < len(capture.phases) for each in whole)
    if samples.phases:
        profile = fitted(samples, "found").profile
        assert {name for name, _ in profile.phases} == {one.phase for one in samples.phases}
