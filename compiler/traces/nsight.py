"""The database that Nsight Systems exports: `nsys export --type sqlite`. Times are nanoseconds."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Hashable
from typing import Any

from plait.compiler.traces.database import Database
from plait.compiler.traces.gathered import gathered
from plait.compiler.traces.kinds import kind_of
from plait.compiler.traces.model import Kind, Trace
from plait.compiler.traces.numbers import LATEST, identity, is_time
from plait.compiler.traces.rows import HOST, Rows, Wait

CUPTI = "CUPTI_ACTIVITY_KIND_"
KERNEL = f"{CUPTI}KERNEL"
ON_STREAM = "start", "end", "deviceId", "streamId", "correlationId", "graphNodeId"
COPIES = (
    (f"{CUPTI}MEMCPY", "copyKind", "Memcpy"),
    (f"{CUPTI}MEMSET", "memKind", "Memset"),
)
COPY_KINDS = {1: "HtoD", 2: "DtoH", 8: "DtoD", 10: "PtoP"}
STREAM_WAIT = 2
SYNCS = {1: "Event Sync", STREAM_WAIT: "Stream Wait Event", 3: "Stream Sync", 4: "Context Sync"}
RANGES = frozenset((59, 60))
"""Of NVTX those that begin and end, within a thread or over several."""
PASSED_OVER = frozenset(
    (
        "StringIds",
        KERNEL,
        f"{CUPTI}MEMCPY",
        f"{CUPTI}MEMSET",
        f"{CUPTI}SYNCHRONIZATION",
        f"{CUPTI}RUNTIME",
        f"{CUPTI}DRIVER",
        f"{CUPTI}CUDA_EVENT",
        f"{CUPTI}GRAPH_TRACE",
        "NVTX_EVENTS",
        "META_DATA_EXPORT",
        "META_DATA_CAPTURE",
        "EXPORT_PARAMETERS",
        "ThreadNames",
        "PROCESSES",
        "ANALYSIS_FILE",
        "ANALYSIS_DETAILS",
        "sqlite_sequence",
    )
)
DESCRIBING = "ENUM_", "TARGET_INFO_", "SCHED_", "OSRT_", "PROFILER_", "DIAGNOSTIC_", "GPU_METRICS"
"""Tables about the machine, and of what other profilers of it saw."""


def read_nsight(file: str, database: Database) -> Trace:
    """Raises TraceError."""
    rows = Rows(file, "Nsight Systems", launches_share=True)
    texts = {number: str(text) for number, text in database.rows("StringIds", ("id", "value"))}
    _kernels(rows, database, texts)
    _copies(rows, database)
    _whole_graphs(rows, database)
    _calls(rows, database, texts)
    _launched(rows)
    _waits(rows, database)
    _ranges(rows, database, texts)
    for table in sorted(set(database.tables) - PASSED_OVER):
        if not table.startswith(DESCRIBING):
            rows.unknown[f"table {table!r:.60}"] += 1
    return gathered(rows)


def _kernels(rows: Rows, database: Database, texts: dict[Any, str]) -> None:
    columns = (*ON_STREAM, "demangledName", "shortName")
    for row in sorted(database.rows(KERNEL, columns), key=_by_start):
        *_, demangled, short = row
        name = texts.get(demangled) or texts.get(short) or str(short)
        _on_stream(rows, row, name, kind_of(name))


def _copies(rows: Rows, database: Database) -> None:
    for table, what, name in COPIES:
        for row in sorted(database.rows(table, (*ON_STREAM, what)), key=_by_start):
            kind = COPY_KINDS.get(row[-1])
            _on_stream(rows, row, f"{name} {kind}" if kind and name == "Memcpy" else name, "copy")


def _on_stream(rows: Rows, row: tuple[Any, ...], name: str, kind: Kind) -> None:
    start, end, device, stream, correlation, node = row[:6]
    if not is_time(start, end):
        rows.unknown["rows without a start and an end"] += 1
        return
    correlation = identity(correlation) or -1  # 0: of none
    lane = rows.lane(f"gpu {device}", str(stream), f"stream {stream}")
    number = rows.add(start, end, lane, name, kind, correlation)
    node = identity(node)
    if node > 0:
        # the upper half of a node's number is its graph's
        rows.in_graph(number, lane, node >> 32, node, correlation)


def _whole_graphs(rows: Rows, database: Database) -> None:
    """Replays that are traced as one row each: `--cuda-graph-trace graph`."""
    columns = "start", "end", "deviceId", "streamId", "correlationId", "graphId"
    for start, end, device, stream, correlation, graph in database.rows(
        f"{CUPTI}GRAPH_TRACE", columns
    ):
        if not is_time(start, end):
            rows.unknown["rows without a start and an end"] += 1
            continue
        lane = rows.lane(f"gpu {device}", str(stream), f"stream {stream}")
        number = rows.add(start, end, lane, f"graph {graph}", "replay", identity(correlation))
        rows.graphs[number] = "whole", number
        rows.whole_replays["whole", number] = number
        rows.graph_names["whole", number] = str(graph)


def _calls(rows: Rows, database: Database, texts: dict[Any, str]) -> None:
    columns = "start", "end", "globalTid", "correlationId", "nameId"
    for table in (f"{CUPTI}RUNTIME", f"{CUPTI}DRIVER"):
        for start, end, thread, correlation, name in database.rows(table, columns):
            if not is_time(start, end):
                rows.unknown["rows without a start and an end"] += 1
                continue
            said = texts.get(name, str(name))
            launches = any(word in said for word in ("Launch", "Memcpy", "Memset"))
            kind: Kind = "launch" if launches else "host"
            rows.add(start, end, rows.lane(HOST, str(thread)), said, kind, identity(correlation))


def _launched(rows: Rows) -> None:
    """Ties replays whose kernels do not say what launched them to launches, in order, if as many of either
    are left."""
    starts: dict[Hashable, int] = {}
    for number, key in rows.graphs.items():
        if rows.rows[number][6] < 0:
            starts[key] = min(starts.get(key, LATEST), rows.rows[number][0])
    tied = {row[6] for row in rows.rows if row[5] != "launch"}
    launches = sorted(
        row
        for row in rows.rows
        if row[5] == "launch" and "GraphLaunch" in row[4] and row[6] not in tied
    )
    if not starts:
        return
    if len(starts) != len(launches):
        rows.notes.append(
            f"of {len(starts):,} replays and {len(launches):,} launches of graphs the trace does not say "
            "which is whose"
        )
        return
    order = sorted(starts, key=lambda key: starts[key])
    rows.graph_launches |= {key: row[2] for key, row in zip(order, launches, strict=True)}
    for number, key in rows.graphs.items():
        if key in rows.graph_launches:
            launch = rows.rows[rows.graph_launches[key]]
            rows.rows[number] = (*rows.rows[number][:7], launch[0])
            rows.launches[number] = launch[2]
            rows.issuers[number] = launch[0], launch[3]


def _waits(rows: Rows, database: Database) -> None:
    """Of a wait for an event its stream, and that of the last record of the event before the wait."""
    records: dict[tuple[Any, Any], list[tuple[int, Any]]] = {}
    columns = "deviceId", "eventId", "correlationId", "streamId"
    for device, event, correlation, stream in database.rows(f"{CUPTI}CUDA_EVENT", columns):
        if identity(correlation) > 0 and identity(stream) >= 0:
            records.setdefault((device, event), []).append((correlation, stream))
    for found in records.values():
        found.sort()
    columns = "start", "end", "deviceId", "streamId", "correlationId", "syncType", "eventId"
    for start, end, device, stream, correlation, sort, event in database.rows(
        f"{CUPTI}SYNCHRONIZATION", columns
    ):
        if not is_time(start, end):
            rows.unknown["rows without a start and an end"] += 1
            continue
        if sort not in SYNCS:
            rows.unknown[f"synchronization of type {sort!r:.20}"] += 1
        lane = rows.lane(f"gpu {device}", str(stream), f"stream {stream}")
        rows.add(start, end, lane, SYNCS.get(sort, "Sync"), "wait", identity(correlation))
        if sort == STREAM_WAIT:
            of_event = records.get((device, event), [])
            at = bisect_left(of_event, (identity(correlation), -1)) - 1
            record, source = of_event[at] if at >= 0 else (-1, None)
            source = rows.lane(f"gpu {device}", str(source)) if at >= 0 else -1
            rows.waits.append(Wait(lane, start, -1, source, identity(correlation), record))


def _ranges(rows: Rows, database: Database, texts: dict[Any, str]) -> None:
    columns = "start", "end", "eventType", "text", "textId", "globalTid"
    for start, end, sort, text, number, thread in database.rows("NVTX_EVENTS", columns):
        if sort not in RANGES:
            continue
        if not is_time(start, end):
            rows.unknown["ranges that did not end"] += 1
            continue
        said = text if text is not None else texts.get(number, "")
        rows.add(start, end, rows.lane(HOST, str(thread)), str(said), "range")


def _by_start(row: tuple[Any, ...]) -> tuple[bool, int]:
    known = type(row[0]) is int
    return known, row[0] if known else 0
