"""Reads a trace of whatever profiler: which one is told by what stands in the file, not by its name."""

from __future__ import annotations

import os
from typing import Any

from plait.compiler.traces.ascend_db import TASK, read_ascend_db
from plait.compiler.traces.ascend_view import read_ascend_view
from plait.compiler.traces.database import Database
from plait.compiler.traces.detect import Sort, sort_of_events, sort_of_header
from plait.compiler.traces.expanded import MOST_BYTES, SQLITE, expanded, is_database, keeping_all
from plait.compiler.traces.json_file import events_of, json_of
from plait.compiler.traces.kernel_details import read_kernel_details
from plait.compiler.traces.kineto import read_kineto
from plait.compiler.traces.model import Trace
from plait.compiler.traces.nsight import KERNEL, read_nsight
from plait.compiler.traces.own import read_own
from plait.compiler.traces.task_time import read_task_time
from plait.compiler.traces.trace_error import TraceError

READ = (
    "read are: Plait's own, torch.profiler's JSON, Ascend's trace_view.json, msprof_*.json, "
    "kernel_details.csv, op_summary_*.csv, task_time_*.csv and databases, and Nsight's sqlite export"
)


def read_trace(path: str, most: int = MOST_BYTES) -> Trace:
    """With at most so many bytes, expanded. Raises TraceError, OSError."""
    if os.path.isdir(path):
        raise TraceError(f"{path}: is a folder; name the trace in it; {READ}")
    with keeping_all():
        if is_database(path):
            return _database(path, most)
        data = expanded(path, most)
        if data.startswith(SQLITE):
            how = "in gzip; expand it first: gunzip -k FILE"
            if not os.path.isfile(path):
                how = "that comes through a pipe; name the file itself"
            raise TraceError(f"{path}: is a database {how}")
        text = data[:4096].lstrip(b"\xef\xbb\xbf \t\r\n")
        if text[:1] in (b"{", b"["):
            return _events(path, json_of(path, data))
        return _table(path, data)


def _database(path: str, most: int) -> Trace:
    database = Database(path, most)
    try:
        if TASK in database.tables:
            return read_ascend_db(path, database)
        if any(name.startswith("CUPTI_ACTIVITY_KIND_") for name in database.tables):
            return read_nsight(path, database)
    finally:
        database.close()
    raise TraceError(
        f"{path}: is a database with neither Ascend's table {TASK} nor Nsight's {KERNEL}; {READ}"
    )


def _events(path: str, data: Any) -> Trace:
    events = events_of(path, data)
    sort = sort_of_events(data, events)
    if sort is Sort.OWN:
        return read_own(path, data, events)
    if sort is Sort.ASCEND:
        return read_ascend_view(path, events)
    return read_kineto(path, events)


def _table(path: str, data: bytes) -> Trace:
    sort = sort_of_header(path, data)
    read = read_task_time if sort is Sort.TASK_TIME else read_kernel_details
    return read(path, data)
