"""Ascend's databases: `ascend_pytorch_profiler_<rank>.db` and `msprof_*.db`. Times are nanoseconds."""

from __future__ import annotations

from typing import Any

from plait.compiler.traces.ascend_graphs import NO_MODEL, Task, in_graphs, keep
from plait.compiler.traces.database import Database
from plait.compiler.traces.gathered import gathered
from plait.compiler.traces.kinds import COMPUTE_TYPES, kind_of
from plait.compiler.traces.model import Kind, Round, Trace
from plait.compiler.traces.numbers import identity, is_time
from plait.compiler.traces.rows import HOST, Rows

TASK = "TASK"
TASKS = (
    *("startNs", "endNs", "deviceId", "connectionId", "globalTaskId"),
    *("taskType", "streamId", "taskId", "modelId"),
)
CALLS = {"PYTORCH_API": "Pytorch", "CANN_API": "CANN"}
"""Tables of a host's calls, each with what its lanes are called by."""
PASSED_OVER = frozenset(
    (
        "STRING_IDS",
        "TASK",
        "COMPUTE_TASK_INFO",
        "COMMUNICATION_OP",
        "COMMUNICATION_TASK_INFO",
        "MSTX_EVENTS",
        "PYTORCH_API",
        "CANN_API",
        "STEP_TIME",
        "CONNECTION_IDS",
        "META_DATA",
        "SESSION_TIME_INFO",
        "HOST_INFO",
        "NPU_INFO",
        "RANK_DEVICE_MAP",
        "sqlite_sequence",
        "COMMUNICATION_SCHEDULE_TASK_INFO",
    )
)


def read_ascend_db(file: str, database: Database) -> Trace:
    """Raises TraceError."""
    rows = Rows(file, "Ascend database")
    texts = _texts(database)
    names, communications = _names(database, texts)
    marks = _marks(database, texts)
    tasks: list[Task] = []
    for row in database.rows(TASK, TASKS):
        start, end, device, connection, task, type, stream, local, model = row
        if not is_time(start, end):
            rows.unknown["tasks without a start and an end"] += 1
            continue
        type = str(texts.get(type, type if type is not None else ""))
        kind: Kind
        if connection in marks and task not in names:
            name, kind = marks[connection], "range"
        else:
            name = names.get(task, type or "task")
            kind = kind_of(name, type)
            if task in communications and kind in ("compute", "copy"):
                kind = "communication"
            if kind == "compute" and type not in COMPUTE_TYPES:
                rows.unknown[f"task type {type!r:.60}"] += 1
        lane = rows.lane(f"npu {device}", str(stream), f"Stream {stream}")
        number = rows.add(start, end, lane, name, kind, identity(connection))
        model = identity(model)
        keep(rows, tasks, Task(number, NO_MODEL if model == -1 else model, identity(local)))
    in_graphs(rows, tasks)
    _communications(rows, database, texts)
    _hosts(rows, database, texts)
    _host_marks(rows, database, texts)
    _steps(rows, database)
    for table in sorted(set(database.tables) - PASSED_OVER):
        rows.unknown[f"table {table!r:.60}"] += 1
    return gathered(rows)


def _texts(database: Database) -> dict[Any, str]:
    return {number: str(text) for number, text in database.rows("STRING_IDS", ("id", "value"))}


def _names(database: Database, texts: dict[Any, str]) -> tuple[dict[Any, str], set[Any]]:
    """By task what it is called, and which are of a communication."""
    found: dict[Any, str] = {}
    communications: set[Any] = set()
    columns = "globalTaskId", "name", "opName"
    for task, name, other in database.rows("COMMUNICATION_TASK_INFO", columns):
        text = name if name is not None else other
        found[task] = texts.get(text, str(text if text is not None else "communication"))
        communications.add(task)
    for task, name, other in database.rows("COMPUTE_TASK_INFO", columns):
        text = name if name is not None else other
        found[task] = texts.get(text, str(text if text is not None else "kernel"))
    return found, communications


def _marks(database: Database, texts: dict[Any, str]) -> dict[Any, str]:
    """By connection the message of a mark that was given its stream."""
    return {
        connection: texts.get(message, str(message))
        for message, connection in database.rows("MSTX_EVENTS", ("message", "connectionId"))
        if connection not in (None, 0, NO_MODEL)
    }


def _communications(rows: Rows, database: Database, texts: dict[Any, str]) -> None:
    """Each as a whole, in a lane of its group: its tasks are in the lanes of their streams."""
    columns = "opName", "startNs", "endNs", "groupName", "deviceId"
    for name, start, end, group, device in database.rows("COMMUNICATION_OP", columns):
        if not is_time(start, end):
            rows.unknown["communications without a start and an end"] += 1
            continue
        lane = rows.lane(f"npu {device or 0}", f"Group {texts.get(group, group)} Communication")
        rows.add(start, end, lane, texts.get(name, str(name)), "communication")


def _hosts(rows: Rows, database: Database, texts: dict[Any, str]) -> None:
    columns = "startNs", "endNs", "globalTid", "name", "connectionId"
    for table, layer in CALLS.items():
        for start, end, thread, name, connection in database.rows(table, columns):
            if not is_time(start, end):
                rows.unknown["calls without a start and an end"] += 1
                continue
            said = texts.get(name, str(name))
            kind: Kind = "range" if said.startswith("ProfilerStep#") else "host"
            lane = rows.lane(HOST, f"{layer} {thread}")
            rows.add(start, end, lane, said, kind, identity(connection))


def _host_marks(rows: Rows, database: Database, texts: dict[Any, str]) -> None:
    columns = "startNs", "endNs", "globalTid", "message"
    for start, end, thread, message in database.rows("MSTX_EVENTS", columns):
        if not is_time(start, end):
            rows.unknown["marks without a start and an end"] += 1
            continue
        lane = rows.lane(HOST, f"mstx {thread}")
        rows.add(start, end, lane, texts.get(message, str(message)), "range")


def _steps(rows: Rows, database: Database) -> None:
    found: set[int] = set()
    for number, start, end in database.rows("STEP_TIME", ("id", "startNs", "endNs")):
        if is_time(start, end) and identity(number) >= 0 and number not in found:
            found.add(number)
            rows.rounds.append(Round(number, start, end))
    rows.rounds.sort()
