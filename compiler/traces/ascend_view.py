"""Ascend's `trace_view.json`, and the `msprof_*.json` that it holds a copy of.

Layers are processes, found by their names: a pid is made of numbers that change with the version.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

from plait.compiler.traces.arrows import arrows
from plait.compiler.traces.ascend_graphs import NO_MODEL, Task, in_graphs, keep
from plait.compiler.traces.gathered import gathered
from plait.compiler.traces.json_file import ARROWS, MARKS
from plait.compiler.traces.kinds import COMPUTE_TYPES, kind_of
from plait.compiler.traces.model import Kind, Trace
from plait.compiler.traces.numbers import nanoseconds, whole
from plait.compiler.traces.rows import HOST, Rows

HARDWARE, COMMUNICATION, OVERLAP = "Ascend Hardware", "Communication", "Overlap Analysis"
HOSTS = frozenset(("Python", "CANN", "MsTx", "MSTX"))
LAYERS = frozenset((HARDWARE, COMMUNICATION, OVERLAP)) | HOSTS
ONCE = {"HCCL": COMMUNICATION}
"""Layers by the name they had."""
IN_PYTHON, IN_CANN, OF_MARKS = "async_npu", "HostToDevice", "MsTx"
OPERATOR = re.compile(r".*::|aclnn|.*Backward[0-9]*$")
"""Names of operators; what else the Python side has, somebody named."""
AUTOMATIC = re.compile(r'\{.{0,400}?"opName"\s*:\s*"([^"]{1,200})"')
"""A mark that the profiler makes of a communication itself."""
GAPS = re.compile(r"PROFILING_(ENABLE|DISABLE)|CAPTURE_WAIT|MEM_WAIT_VALUE")


def read_ascend_view(file: str, events: list[Any]) -> Trace:
    """Raises TraceError."""
    return _Reader(file, events).read()


class _Process:
    """A layer, of a device or of the host."""

    def __init__(self, layer: str, device: str):
        self.layer = layer
        self.device = device


class _Reader:
    def __init__(self, file: str, events: list[Any]):
        self.events = events
        self.rows = Rows(file, "Ascend trace_view")
        self.processes, self.threads = _named(events)
        self.ends: list[tuple[Any, Any, bool]] = []
        self.asked: dict[tuple[str, str], tuple[Any, Any, int]] = {}
        """By category and number, where an arrow starts."""
        self.done: list[tuple[tuple[str, str], tuple[Any, Any, int]]] = []
        """Arrows' ends."""
        self.placed: dict[tuple[Any, Any, int], int] = {}
        """By process, thread and start, the number of a row."""
        self.tasks: list[Task] = []
        self.gaps: Counter[str] = Counter()

    def read(self) -> Trace:
        rows, unknown = self.rows, self.rows.unknown
        for event in self.events:
            try:
                what = event["ph"]
                if what == "X":
                    self._slice(event)
                elif what in ARROWS:
                    self._arrow(event, what == "s")
                elif what not in MARKS:
                    unknown[f"events of ph {what!r:.20}"] += 1
            except (KeyError, TypeError, ValueError, AttributeError):
                unknown["events without the fields of one"] += 1
        self._issued()
        in_graphs(rows, self.tasks)
        if self.gaps:
            told = ", ".join(f"{name} {count:,}" for name, count in sorted(self.gaps.items()))
            rows.notes.append(f"what is blank behind these the profiler may not have seen: {told}")
        rows.arrows = arrows(self.ends, unknown)
        return gathered(rows)

    def _arrow(self, event: Any, starts: bool) -> None:
        category, number = event.get("cat"), event.get("id")
        self.ends.append((category, number, starts))
        if category not in (IN_PYTHON, IN_CANN, OF_MARKS):
            return
        key = category, str(number)
        place = event["pid"], event["tid"], nanoseconds(event["ts"])
        # A process is a number or a text; a list raises here, where what is odd is counted.
        hash(place)
        if starts:
            self.asked[key] = place
        else:
            self.done.append((key, place))

    def _slice(self, event: Any) -> None:
        rows, unknown = self.rows, self.rows.unknown
        start = nanoseconds(event["ts"])
        end = start + nanoseconds(event.get("dur", 0))
        if end < start:
            unknown["events that end before they begin"] += 1
            return
        name, process, thread = str(event["name"]), event["pid"], event["tid"]
        arguments = event.get("args")
        if not isinstance(arguments, dict):
            arguments = {}
        layer = self.processes.get(process)
        if layer is None:
            named = HARDWARE if "Task Type" in arguments else ""
            layer = self.processes[process] = _Process(named, "npu 0")
        said = self.threads.get((process, thread), "")
        if layer.layer == HARDWARE:
            self._task(name, start, end, layer.device, process, thread, arguments)
        elif layer.layer == COMMUNICATION:
            kind = kind_of(name)
            lane = rows.lane(layer.device, said or str(thread))
            rows.add(start, end, lane, name, kind if kind == "wait" else "communication")
        elif layer.layer == OVERLAP:
            rows.stated[said or name] = rows.stated.get(said or name, 0) + end - start
        elif layer.layer in HOSTS:
            kind = _on_host(name, event.get("cat"), arguments)
            lane = self._host_lane(layer.layer, process, thread)
            number = rows.add(start, end, lane, name, kind, whole(arguments.get("connection_id")))
            self.placed[process, thread, start] = number
        else:
            unknown[
                f"process {layer.layer!r:.60}" if layer.layer else "process without a name"
            ] += 1

    def _task(
        self,
        name: str,
        start: int,
        end: int,
        device: str,
        process: Any,
        thread: Any,
        arguments: dict[str, Any],
    ) -> None:
        rows = self.rows
        said = self.threads.get((process, thread), "")
        lane = rows.lane(device, said.removeprefix("Stream ") or str(thread), said)
        type = str(arguments.get("Task Type", ""))
        kind: Kind
        if "Task Type" not in arguments and "Task Id" in arguments:
            kind = "range"  # a mark that was given its stream
            automatic = AUTOMATIC.match(name)
            name = automatic[1] if automatic else name
        else:
            kind = kind_of(name, type)
            if kind == "compute" and type not in COMPUTE_TYPES:
                rows.unknown[f"task type {type!r:.60}"] += 1
        if GAPS.fullmatch(name):
            self.gaps[name] += 1
        number = rows.add(start, end, lane, name, kind, whole(arguments.get("connection_id")))
        self.placed[process, thread, start] = number
        model = whole(arguments.get("Model Id"), NO_MODEL)
        keep(rows, self.tasks, Task(number, model, whole(arguments.get("Task Id"))))

    def _host_lane(self, layer: str, process: Any, thread: Any) -> int:
        said = self.threads.get((process, thread), str(thread))
        return self.rows.lane(HOST, f"{layer} {thread}", f"{layer} {said}")

    def _issued(self) -> None:
        """Of what the hardware did, when CANN launched it, and when and by which thread Python asked."""
        rows = self.rows
        for key, place in self.done:
            number, asked = self.placed.get(place), self.asked.get(key)
            if number is None or asked is None:
                continue
            process, thread, at = asked
            if (launch := self.placed.get(asked)) is not None:
                rows.launches[number] = launch
            if key[0] == IN_CANN:
                row = rows.rows[number]
                rows.rows[number] = (*row[:7], at)
            layer = self.processes.get(process)
            if layer is not None and (key[0] == IN_PYTHON or number not in rows.issuers):
                rows.issuers[number] = at, self._host_lane(layer.layer, process, thread)


def _named(events: list[Any]) -> tuple[dict[Any, _Process], dict[tuple[Any, Any], str]]:
    """Processes, and the names of threads."""
    names: dict[Any, str] = {}
    labels: dict[Any, str] = {}
    threads: dict[tuple[Any, Any], str] = {}
    for event in events:
        try:
            if event["ph"] != "M":
                continue
            what, said = event["name"], event["args"]
            if what == "process_name":
                names[event["pid"]] = str(said["name"])
            elif what == "process_labels":
                labels[event["pid"]] = str(said["labels"])
            elif what == "thread_name":
                threads[event["pid"], event["tid"]] = str(said["name"]).strip()
        except (KeyError, TypeError, AttributeError):
            continue  # what has not these fields names nothing
    processes: dict[Any, _Process] = {}
    unnumbered = 0
    for process, name in names.items():
        layer = ONCE.get(name, name)
        number = re.search(r"NPU ([0-9]{1,4})", labels.get(process, ""))
        device = f"npu {number[1]}" if number else "npu 0"
        if layer == HARDWARE and number is None:
            device = f"npu {unnumbered}"
            unnumbered += 1
        processes[process] = _Process(layer, device)
    return processes, threads


def _on_host(name: str, category: Any, arguments: dict[str, Any]) -> Kind:
    if category == "user_annotation" or ("event_type" in arguments and "domain" in arguments):
        return "range"
    if category == "cpu_op" and not OPERATOR.match(name):
        return "range"
    return "host"
