"""What a trace that `plait run --trace` wrote says, each part known to be of its kind."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from plait.compiler.calibrate.samples import MOST, CalibrateError
from plait.compiler.traces.expanded import expanded
from plait.compiler.traces.trace_error import TraceError
from plait.runtime.schedule import Schedule

LONGEST = 1 << 62
"""Nanoseconds from the first moment of a trace."""


class OwnSlice(NamedTuple):
    start: int
    end: int
    kind: str
    name: str
    round: int
    capture: str
    """That holds it; empty: none."""


@dataclass
class OwnTrace:
    schedule: Schedule
    lanes: dict[str, list[OwnSlice]]
    """By start; a replay before what it holds."""
    reached: dict[str, int]
    """When records were, by what ties them to a wait."""
    waited: dict[str, tuple[str, int]]
    """The lane, and the end, of the wait for each."""
    rounds: list[tuple[int, int, int, int, bool]]
    """Number, bucket, when the host began it and had issued it, and whether it was traced."""
    beside: list[tuple[int, str, int, int]]
    """Bucket, phase, and what it took by itself and, at the same time, in its graph."""


def read_own(path: Path, schedule_from: Callable[[str, str], Schedule], most: int) -> OwnTrace:
    """`schedule_from` gives the Schedule of a JSON text, which it calls by a name in what it raises.

    A file has at most so many bytes, those that it expands to included.
    Raises CalibrateError for a file that is no such trace, OSError, and what that does.
    """
    try:
        data = expanded(str(path), most)
    except TraceError as error:
        raise CalibrateError(str(error)) from None
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        raise CalibrateError(f"{path}: is not JSON") from None
    about = found.get("plait") if isinstance(found, dict) else None
    if not isinstance(about, dict) or not isinstance(found.get("traceEvents"), list):
        raise CalibrateError(
            f"{path}: does not say of which schedule it is: take one that `plait run --trace` wrote, or name "
            "what ran with `plait calibrate --spec`"
        )
    schedule = schedule_from(json.dumps(about.get("schedule")), f"{path}: plait.schedule")
    try:
        return _file(schedule, about, found["traceEvents"])
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        what = f"{type(error).__name__}: {error}"
        raise CalibrateError(f"{path}: is not as `plait run --trace` writes it ({what})") from None


def _file(schedule: Schedule, about: dict[str, Any], events: list[Any]) -> OwnTrace:
    buckets = {bucket.name: number for number, bucket in enumerate(schedule.buckets)}
    names: dict[int, str] = {}
    found = OwnTrace(schedule, {}, {}, {}, [], [])
    for event in events:
        if event["ph"] == "M" and event["name"] == "thread_name":
            names[event["tid"]] = str(event["args"]["name"])
    for event in events:
        if event["ph"] not in "Xsf":
            continue
        lane, start = names[event["tid"]], _time(event["ts"])
        if event["ph"] == "X":
            args = event["args"]
            one = OwnSlice(
                start,
                start + _length(event["dur"]),
                str(event["cat"]),
                str(event["name"]),
                int(args["round"]),
                str(args.get("capture", "")),
            )
            found.lanes.setdefault(lane, []).append(one)
        elif event["ph"] == "s":
            found.reached[str(event["id"])] = start
        else:
            found.waited[str(event["id"])] = lane, start
    for lane in found.lanes.values():
        lane.sort(key=lambda one: (one.start, -one.end))
    for one in about["rounds"]:
        at, issued = _time(one["at"]), _time(one["issued"])
        found.rounds.append(
            (int(one["number"]), buckets[one["bucket"]], at, issued, one["noted"] is True)
        )
    for one in about["beside"]:
        took, held = _length(one["took"]), _length(one["held"])
        found.beside.append((buckets[one["bucket"]], str(one["phase"]), took, held))
    return found


def _time(microseconds: Any) -> int:
    found = round(float(microseconds) * 1000)
    if abs(found) > LONGEST:
        raise ValueError("a time is longer than any trace")
    return found


def _length(microseconds: Any) -> int:
    found = _time(microseconds)
    if not 0 <= found <= MOST:
        raise ValueError("something takes less than nothing, or more than a quarter of an hour")
    return found
