"""Whose trace a file is, by its contents."""

from __future__ import annotations

import csv
from enum import Enum
from typing import Any

from plait.compiler.traces.ascend_view import LAYERS, ONCE
from plait.compiler.traces.trace_error import TraceError

LONGEST_HEADER = 1 << 16
TOTALS = frozenset(("Computing", "Total Time(us)", "Ratio(%)", "Count"))
"""Columns of Ascend's tables without a time at which anything ran."""


class Sort(Enum):
    OWN = "Plait"
    ASCEND = "Ascend trace_view"
    KINETO = "Kineto"
    KERNELS = "Ascend kernel_details"
    TASK_TIME = "Ascend task_time"


def sort_of_events(data: Any, events: list[Any]) -> Sort:
    """Of trace events. What is neither Plait's nor Ascend's is read as Kineto's."""
    if isinstance(data, dict) and "plait" in data:
        return Sort.OWN
    names = sorted({*LAYERS, *ONCE} - {"Python"})
    for event in events:
        if not isinstance(event, dict):
            continue
        arguments = event.get("args")
        if not isinstance(arguments, dict):
            continue
        if event.get("ph") == "X" and "round" in arguments and "spec" in arguments:
            return Sort.OWN
        if event.get("name") == "process_name" and arguments.get("name") in names:
            return Sort.ASCEND
        if "Task Type" in arguments and "Task Id" in arguments:
            return Sort.ASCEND
    return Sort.KINETO


def sort_of_header(path: str, data: bytes) -> Sort:
    """Of a table. Raises TraceError for what is none, or has no times."""
    line = data[:LONGEST_HEADER].decode("utf-8-sig", "replace").partition("\n")[0]
    try:
        header = {cell.strip() for cell in next(csv.reader([line]), [])}
    except csv.Error:
        header = set()
    if {"kernel_name", "task_start(us)"} <= header:
        return Sort.TASK_TIME
    if {"Start Time(us)", "Duration(us)"} <= header or "Task Start Time(us)" in header:
        return Sort.KERNELS
    if header & TOTALS:
        raise TraceError(
            f"{path}: line 1: is a table of totals, which says of nothing when it ran; give the "
            "trace_view.json, kernel_details.csv or task_time_*.csv beside it"
        )
    raise TraceError(
        f"{path}: line 1: is neither JSON nor a database, and no table with a column `Start Time(us)` "
        "or `task_start(us)`: of a profiler of which Plait reads traces, see docs/traces.md"
    )
