"""A trace that says of itself what ran, read as something else."""

from __future__ import annotations

from plait.compiler.align.ran import ran_otherwise
from plait.compiler.traces.model import Trace


def test_settings_of_another_variant_are_told(eagle, compiled) -> None:
    """Only those that differ, as they were; nothing where all are as asked or the trace says nothing."""
    schedule = compiled(eagle)
    trace = Trace(
        "run.json", "Plait", about={"schedule": "eagle", "settings": "num_steps = 2, topk = 1"}
    )
    assert not list(ran_otherwise(trace, schedule))
    trace.about["settings"] = "num_steps = 3, buckets = [1, 2, 4, 8], topk = 1"
    assert list(ran_otherwise(trace, schedule)) == [
        "the trace ran with num_steps = 3, and was read as one without"
    ]
    assert not list(ran_otherwise(Trace("run.json", "Kineto"), schedule))


def test_another_schedule_is_told_by_its_name(eagle, compiled) -> None:
    """Its settings say nothing then."""
    trace = Trace("run.json", "Plait", about={"schedule": "moe", "settings": "topk = 7"})
    told = ["the trace is of moe, and was read as one of eagle"]
    assert list(ran_otherwise(trace, compiled(eagle))) == told
