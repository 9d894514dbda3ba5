"""What a trace says of the schedule that ran, where another one was asked for."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from plait.compiler.traces.model import Trace
from plait.runtime.schedule import Schedule

SETTING = re.compile(r"([\w.]+) = (.*?)(?=, [\w.]+ = |$)", re.ASCII)


def ran_otherwise(trace: Trace, schedule: Schedule) -> Iterator[str]:
    """A line where it ran under another name or other settings; only Plait's own traces tell."""
    ran = trace.about.get("schedule", schedule.name)
    if ran != schedule.name:
        yield f"the trace is of {ran}, and was read as one of {schedule.name}"
        return
    asked = {name: json.dumps(value) for name, value in schedule.settings}
    there = SETTING.findall(trace.about.get("settings", ""))
    apart = [f"{name} = {value}" for name, value in there if asked.get(name, value) != value]
    if apart:
        yield f"the trace ran with {', '.join(apart)}, and was read as one without"
