"""Ascend's `kernel_details.csv`, and `op_summary_*.csv`, which is the same with other names of columns.

It lists operators, not the tasks by which streams wait: for those there is the trace or the database.
"""

from __future__ import annotations

from plait.compiler.traces.ascend_graphs import NO_MODEL, Task, in_graphs
from plait.compiler.traces.gathered import gathered
from plait.compiler.traces.kinds import COMPUTE_TYPES, kind_of
from plait.compiler.traces.model import Kind, Round, Trace
from plait.compiler.traces.numbers import nanoseconds, whole
from plait.compiler.traces.rows import Rows
from plait.compiler.traces.table import NOTHING, Table

COLUMNS = {
    "Name": ("Name", "Op Name"),
    "Start Time(us)": ("Start Time(us)", "Task Start Time(us)"),
    "Duration(us)": ("Duration(us)", "Task Duration(us)"),
    "Stream ID": ("Stream ID", "Stream Id", "Physic Stream Id"),
    "Device_id": ("Device_id", "Device Id", "Device ID"),
    "Task ID": ("Task ID", "Task Id"),
    "Model ID": ("Model ID", "Model Id"),
    "Step Id": ("Step Id", "Step ID"),
    "Type": ("Type", "OP Type"),
    "Accelerator Core": ("Accelerator Core", "Task Type"),
}
SHAPES = frozenset(
    (
        "Block Dim",
        "Block Num",
        "Mix Block Dim",
        "Mix Block Num",
        "OP State",
        "HF32 Eligible",
        "Wait Time(us)",
        "Task Wait Time(us)",
        "Input Shapes",
        "Input Data Types",
        "Input Formats",
        "Output Shapes",
        "Output Data Types",
        "Output Formats",
        "Context ID",
        "Is Offload",
    )
)
"""Columns that are known, and of which nothing is read."""
COUNTERS = "aic", "aiv", "cube_utilization", "vector_", "ai_core", "ub_", "l2_", "main_mem"
COMMUNICATION = "communication"
"""The stream of what has none: a communication as a whole, which runs on several."""


def read_kernel_details(file: str, data: bytes) -> Trace:
    """Raises TraceError."""
    table = Table(file, data, COLUMNS)
    table.needs("Name", "Start Time(us)", "Duration(us)")
    rows = Rows(file, "Ascend kernel_details")
    steps: dict[int, tuple[int, int]] = {}
    tasks: list[Task] = []
    for name in table.unread:
        if name not in SHAPES and not name.lower().startswith(COUNTERS):
            rows.unknown[f"column {name!r:.60}"] += 1
    for row in table:
        try:
            start = nanoseconds(row["Start Time(us)"])
            length = nanoseconds(row["Duration(us)"])
            name = row["Name"]
        except (KeyError, ValueError):
            rows.unknown["rows without a start and a duration"] += 1
            continue
        if length < 0:
            rows.unknown["rows that end before they begin"] += 1
            continue
        core = row.get("Accelerator Core", "")
        kind = _kind(name, core)
        if kind == "compute" and core not in COMPUTE_TYPES:
            rows.unknown[f"accelerator core {core!r:.60}"] += 1
        stream = row.get("Stream ID", "")
        lane = _lane(rows, row.get("Device_id", ""), stream, kind)
        number = rows.add(start, start + length, lane, name, kind)
        model = whole(row.get("Model ID"), NO_MODEL)
        if model != NO_MODEL and stream not in NOTHING:
            tasks.append(Task(number, model, whole(row.get("Task ID"))))
        step = whole(row.get("Step Id"))
        if step >= 0:
            first, last = steps.get(step, (start, start + length))
            steps[step] = min(first, start), max(last, start + length)
    in_graphs(rows, tasks)
    rows.rounds = [Round(step, *span) for step, span in sorted(steps.items())]
    return gathered(rows)


def _kind(name: str, core: str) -> Kind:
    return "communication" if core in ("HCCL", "COMMUNICATION") else kind_of(name, core)


def _lane(rows: Rows, device: str, stream: str, kind: Kind) -> int:
    device = f"npu {whole(device, 0)}"
    if stream in NOTHING:
        stream = COMMUNICATION if kind == "communication" else "none"
        return rows.lane(device, stream, f"without a stream: {kind}")
    return rows.lane(device, stream, f"Stream {stream}")
