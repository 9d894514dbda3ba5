"""Ascend's `task_time_*.csv`: every task of every stream, waits too."""

from __future__ import annotations

from plait.compiler.traces.ascend_graphs import NO_MODEL, Task, in_graphs, keep
from plait.compiler.traces.gathered import gathered
from plait.compiler.traces.kinds import COMPUTE_TYPES, kind_of
from plait.compiler.traces.model import Trace
from plait.compiler.traces.numbers import nanoseconds, whole
from plait.compiler.traces.rows import Rows
from plait.compiler.traces.table import NOTHING, Table

COLUMNS = {
    "kernel_name": ("kernel_name", "Kernel Name"),
    "kernel_type": ("kernel_type", "Kernel Type"),
    "task_start(us)": ("task_start(us)", "Task Start(us)"),
    "task_stop(us)": ("task_stop(us)", "Task Stop(us)"),
    "task_time(us)": ("task_time(us)", "Task Time(us)"),
    "stream_id": ("stream_id", "Stream ID"),
    "task_id": ("task_id", "Task ID"),
    "Device_id": ("Device_id", "device_id"),
}


def read_task_time(file: str, data: bytes) -> Trace:
    """Raises TraceError."""
    table = Table(file, data, COLUMNS)
    table.needs("kernel_name", "task_start(us)", "task_time(us)")
    rows = Rows(file, "Ascend task_time")
    tasks: list[Task] = []
    for name in table.unread:
        rows.unknown[f"column {name!r:.60}"] += 1
    for row in table:
        try:
            start = nanoseconds(row["task_start(us)"])
            if row.get("task_stop(us)", "") in NOTHING:
                end = start + nanoseconds(row["task_time(us)"])
            else:
                end = nanoseconds(row["task_stop(us)"])
            name, type = row["kernel_name"], row.get("kernel_type", "")
        except (KeyError, ValueError):
            rows.unknown["rows without a start and a time"] += 1
            continue
        if end < start:
            rows.unknown["rows that end before they begin"] += 1
            continue
        name = type if name in NOTHING else name
        kind = kind_of(name, type)
        if kind == "compute" and type not in COMPUTE_TYPES:
            rows.unknown[f"kernel type {type!r:.60}"] += 1
        stream = row.get("stream_id", "")
        stream = "none" if stream in NOTHING else stream
        lane = rows.lane(f"npu {whole(row.get('Device_id'), 0)}", stream, f"Stream {stream}")
        number = rows.add(start, end, lane, name, kind)
        keep(rows, tasks, Task(number, NO_MODEL, whole(row.get("task_id"))))
    in_graphs(rows, tasks)
    return gathered(rows)
