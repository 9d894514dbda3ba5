"""The trace of `torch.profiler` on CUDA, ROCm or a CPU, as Kineto writes it."""

from __future__ import annotations

from collections import Counter
from typing import Any

from plait.compiler.traces.arrows import arrows
from plait.compiler.traces.gathered import gathered
from plait.compiler.traces.json_file import ARROWS, MARKS
from plait.compiler.traces.kinds import kind_of
from plait.compiler.traces.model import Kind, Trace
from plait.compiler.traces.numbers import nanoseconds, whole
from plait.compiler.traces.rows import HOST, Rows, Wait

ON_DEVICE: dict[str, Kind] = {
    "kernel": "compute",
    "gpu_memcpy": "copy",
    "gpu_memset": "copy",
    "cuda_sync": "wait",
    "hip_sync": "wait",
    "gpu_user_annotation": "range",
}
ON_HOST: dict[str, Kind] = {
    "cpu_op": "host",
    "user_annotation": "range",
    "cuda_runtime": "host",
    "cuda_driver": "host",
    "cuda_event": "host",
    "hip_runtime": "host",
    "python_function": "host",
    "overhead": "host",
    "cpu_instant_event": "host",
}
CALLS = frozenset(("cuda_runtime", "cuda_driver", "hip_runtime"))
PASSED_OVER = frozenset(("Trace",))
UNTIED = "cudaStreamWaitEvent", "hipStreamWaitEvent"


def read_kineto(file: str, events: list[Any]) -> Trace:
    """Raises TraceError."""
    rows = Rows(file, "Kineto", launches_share=True)
    names = _names(events)
    unknown: Counter[str] = rows.unknown
    flows: list[tuple[Any, Any, bool]] = []
    lanes: dict[tuple[Any, Any, bool], int] = {}
    add = rows.rows.append
    untied = 0
    for event in events:
        try:
            what = event["ph"]
            if what != "X":
                if what in ARROWS:
                    flows.append((event.get("cat"), event.get("id"), what == "s"))
                elif what not in MARKS:
                    unknown[f"events of ph {what!r:.20}"] += 1
                continue
            category = event.get("cat")
            on_device = category in ON_DEVICE
            if on_device:
                kind = ON_DEVICE[category]
            elif category in ON_HOST:
                kind = ON_HOST[category]
            else:
                if category not in PASSED_OVER:
                    unknown[f"category {category!r:.60}"] += 1
                continue
            start = nanoseconds(event["ts"])
            length = nanoseconds(event.get("dur", 0))
            if length < 0:
                unknown["events that end before they begin"] += 1
                continue
            name = event["name"]
            if name.__class__ is not str:
                name = str(name)
            process, thread = event["pid"], event["tid"]
            key = process, thread, on_device
            lane = lanes.get(key)
            if lane is None:
                lane = lanes[key] = _lane(rows, names, process, thread, on_device)
            arguments = event.get("args")
            correlation = -1
            if arguments and (on_device or category in CALLS):
                correlation = arguments.get("correlation", -1)
                if correlation.__class__ is not int:
                    correlation = whole(correlation)
                correlation = correlation or -1  # 0: of none
                if on_device:
                    if kind == "compute":
                        kind = kind_of(name)
                        node = arguments.get("graph node id")
                        if node:
                            graph = whole(arguments.get("graph id"))
                            shared = whole(arguments.get("correlation"))
                            rows.in_graph(len(rows.rows), lane, graph, node, shared)
                    elif kind == "wait" and name == "Stream Wait Event":
                        _wait(rows, lane, process, start, correlation, arguments)
                elif "Launch" in name or "Memcpy" in name or "Memset" in name:
                    kind = "launch"
                elif name in UNTIED:
                    untied += 1
            add((start, start + length, len(rows.rows), lane, name, kind, correlation, -1))
        except (KeyError, TypeError, ValueError, AttributeError):
            unknown["events without the fields of one"] += 1
    if untied > len(rows.waits):
        rows.notes.append(
            f"of {untied:,} waits for events the trace says of {len(rows.waits):,} which stream waits"
        )
    rows.arrows = arrows(flows, unknown)
    return gathered(rows)


def _names(events: list[Any]) -> dict[tuple[Any, Any], str]:
    """Of threads."""
    found: dict[tuple[Any, Any], str] = {}
    for event in events:
        try:
            if event["ph"] == "M" and event["name"] == "thread_name":
                found[event["pid"], event["tid"]] = str(event["args"]["name"]).strip()
        except (KeyError, TypeError, AttributeError):
            continue  # counted with all others
    return found


def _lane(
    rows: Rows, names: dict[tuple[Any, Any], str], process: Any, thread: Any, on_device: bool
) -> int:
    name = names.get((process, thread), "")
    device = f"gpu {process}" if on_device else HOST
    return rows.lane(device, str(thread), name or (f"stream {thread}" if on_device else ""))


def _wait(
    rows: Rows, lane: int, process: Any, start: int, correlation: int, arguments: dict[str, Any]
) -> None:
    """A stream that waits for another's event. The trace says when the host asked, not until when."""
    stream = whole(arguments.get("wait_on_stream"))
    record = whole(arguments.get("wait_on_cuda_event_record_corr_id"))
    source = rows.lane(f"gpu {process}", str(stream), f"stream {stream}") if stream >= 0 else -1
    rows.waits.append(Wait(lane, start, -1, source, correlation, record))
