"""Small traces as profilers write them, made by hand with the quirks of real ones."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any


def kineto(events: list[dict[str, Any]], **head: Any) -> str:
    return json.dumps({"schemaVersion": 1, "displayTimeUnit": "ms", **head, "traceEvents": events})


def row(
    category: str, name: str, lane: tuple[Any, Any], ts: Any, dur: Any, **arguments: Any
) -> dict[str, Any]:
    process, thread = lane
    found = {"ph": "X", "cat": category, "name": name, "pid": process, "tid": thread}
    return found | {"ts": ts, "dur": dur, "args": arguments}


def named(what: str, lane: tuple[Any, Any], name: str) -> dict[str, Any]:
    process, thread = lane
    key = "labels" if what == "process_labels" else "name"
    return {"ph": "M", "name": what, "pid": process, "tid": thread, "args": {key: name}}


PYTHON, WORKER = (51, 51), (51, 52)
MAIN, SIDE = (0, 7), (0, 20)


def launch(name: str, lane: tuple[Any, Any], ts: Any, correlation: int) -> dict[str, Any]:
    return row("cuda_runtime", name, lane, ts, 1, correlation=correlation)


def kernel(
    name: str, lane: tuple[Any, Any], ts: Any, dur: Any, correlation: int, **rest: Any
) -> Any:
    return row("kernel", name, lane, ts, dur, stream=lane[1], correlation=correlation, **rest)


KINETO = kineto(
    [
        named("process_labels", (0, 0), "GPU 0"),
        named("thread_name", MAIN, "stream 7 "),
        named("thread_name", SIDE, "stream 20 "),
        named("thread_name", PYTHON, "thread 51 (python)"),
        row("user_annotation", "eagle #3", PYTHON, 4909914216000.000, 90),
        row("user_annotation", "eagle/draft #3", PYTHON, 4909914216001.000, 10),
        launch("cudaGraphLaunch", WORKER, 4909914216002.5, 11),
        row("user_annotation", "eagle/plan #3", PYTHON, 4909914216020.125, 10),
        launch("cudaLaunchKernel", PYTHON, 4909914216021.0, 13),
        launch("cudaEventRecord", PYTHON, 4909914216023.0, 14),
        launch("cudaLaunchKernel", PYTHON, 4909914216031.0, 15),
        launch("cudaStreamWaitEvent", PYTHON, 4909914216032.0, 16),
        launch("cudaLaunchKernel", PYTHON, 4909914216033.0, 17),
        kernel("void gemm<128, 64>(float*)", MAIN, 4909914216040.001, 20.5, 11),
        kernel("softmax", MAIN, 4909914216060.501, 4, 11),
        kernel("plan_kernel", SIDE, 4909914216050, 5, 13),
        kernel("behind_the_record", SIDE, 4909914216055, 30, 15),
        row("cuda_sync", "Stream Wait Event", MAIN, 4909914216032, 2)
        | {
            "args": {
                "stream": 7,
                "correlation": 16,
                "wait_on_stream": 20,
                "wait_on_cuda_event_record_corr_id": 14,
                "wait_on_cuda_event_id": 19,
            }
        },
        kernel("ncclDevKernel_AllReduce", MAIN, 4909914216070.25, 8.125, 17),
        {"ph": "f", "id": 13, "cat": "ac2g", "name": "ac2g", "pid": 0, "tid": 20, "ts": 1},
        row("Trace", "PyTorch Profiler (0)", ("Spans", "PyTorch Profiler"), 4909914216000.0, 90),
        row("hpu_op", "never seen", PYTHON, 4909914216000.0, 1),
        {"ph": "i", "s": "g", "name": "Record Window End", "pid": "", "tid": "", "ts": 1},
    ],
    baseTimeNanoseconds=1790857026000000000,
)

NPU, CANN, PY, HCCL, OVERLAP = 800, 43767502, 437675, 900, 4376751100
NO_MODEL = 4294967295
EPOCH = 1704161511422904


def task(
    name: str, stream: int, at: str, dur: Any, type: str | None, model: int = NO_MODEL, **rest: Any
) -> dict[str, Any]:
    """A row of the hardware, in the words of new files; `at` counts from a moment of 2024."""
    arguments = {"Model Id": model, "Task Type": type, "Physic Stream Id": stream}
    if type is None:
        arguments = {"Physic Stream Id": stream}
    return {
        "name": name,
        "ph": "X",
        "pid": NPU,
        "tid": stream,
        "ts": absolute(at),
        "dur": dur,
        "args": arguments | {"Task Id": rest.pop("task", 1), **rest},
    }


def absolute(at: str) -> str:
    whole, _, part = at.partition(".")
    return f"{EPOCH + int(whole)}.{part or '000'}"


def ascend(rows: list[dict[str, Any]]) -> str:
    return json.dumps(
        [
            named("process_name", (PY, 0), "Python"),
            named("process_name", (CANN, 0), "CANN"),
            named("process_name", (NPU, 0), "Ascend Hardware"),
            named("process_labels", (NPU, 0), "NPU 3"),
            named("process_name", (HCCL, 0), "Communication"),
            named("process_labels", (HCCL, 0), "NPU 3"),
            named("process_name", (OVERLAP, 0), "Overlap Analysis"),
            named("thread_name", (NPU, 2), "Stream 2"),
            named("thread_name", (NPU, 5), "Stream 5"),
            named("thread_name", (HCCL, 0), "Group tp Communication"),
            named("thread_name", (HCCL, 1), "Plane 0"),
            named("thread_name", (OVERLAP, 0), "Computing"),
            *rows,
        ]
    )


def arrow(
    category: str, number: Any, start: tuple[Any, Any, str], end: tuple[Any, Any, str]
) -> Any:
    return [
        {
            "ph": ph,
            "cat": category,
            "id": number,
            "name": category,
            "pid": pid,
            "tid": tid,
            "ts": ts,
        }
        for ph, (pid, tid, ts) in (("s", start), ("f", end))
    ]


def on_host(
    process: int, name: str, at: str, dur: Any, category: str = "", **arguments: Any
) -> dict[str, Any]:
    found = {"ph": "X", "name": name, "pid": process, "tid": 60, "ts": absolute(at), "dur": dur}
    return found | ({"cat": category} if category else {}) | {"args": arguments}


ASCEND = ascend(
    [
        on_host(PY, "ProfilerStep#4", "0.000", 100, "cpu_op"),
        on_host(PY, "aten::mm", "1.000", 2, "cpu_op"),
        on_host(CANN, "Node@launch", "2.500", 1.5, connection_id=7),
        *arrow("async_npu", 17041, (PY, 60, absolute("1.000")), (NPU, 2, absolute("10.000"))),
        *arrow("HostToDevice", "77", (CANN, 60, absolute("2.500")), (NPU, 2, absolute("10.000"))),
        task("MatMulV3", 2, "10.000", 12.77012757357446, "AI_CORE", connection_id=7),
        on_host(PY, "eagle/draft #4", "20.000", 30, event_type="push_pop", domain="default"),
        task("eagle/draft #4", 2, "30.000", 22.0, None),
        task("MODEL_EXECUTE", 2, "31.000", "0.500", "MODEL_EXECUTE"),
        task("Attention", 5, "32.000", 10, "MIX_AIC", 1, task=1),
        task("MoeDistributeDispatch", 5, "42.000", 5.25, "AI_VECTOR_CORE", 1, task=2),
        task("NOTIFY_WAIT", 2, "31.500", 16.000, "NOTIFY_WAIT_SQE"),
        task("EVENT_RECORD", 5, "47.250", 0.02, "EVENT_RECORD_SQE"),
        task("EVENT_WAIT", 2, "48.000", 3, "EVENT_WAIT_SQE"),
        task("Later", 2, "51.000", 1, "AI_CORE"),
        task("MEMCPY_ASYNC", 2, "52.500", 0.5, "SDMA_SQE"),
        task("Odd", 2, "53.500", 0.5, "QUANTUM_SQE"),
        task('{"streamId": 2, "opName": "HcclAllreduce"}', 2, "60.000", 2, None),
        {
            "name": "hcom_allReduce__428_0_1",
            "ph": "X",
            "pid": HCCL,
            "tid": 0,
            "ts": absolute("60.000"),
            "dur": 2,
            "args": {"connection_id": 9, "alg_type": "MESH"},
        },
        {
            "name": "Notify_Wait",
            "ph": "X",
            "pid": HCCL,
            "tid": 1,
            "ts": absolute("60.250"),
            "dur": 1,
            "args": {"notify_id": "8", "transport type": "LOCAL"},
        },
        {
            "name": "Computing",
            "ph": "X",
            "pid": OVERLAP,
            "tid": 0,
            "ts": absolute("10.000"),
            "dur": 12.77,
        },
        {
            "ph": "C",
            "name": "HBM",
            "pid": NPU,
            "tid": 0,
            "ts": absolute("10.000"),
            "args": {"v": 1},
        },
        {"ph": "X", "name": "lost", "pid": 4, "tid": 0, "ts": absolute("1.000"), "dur": 1},
    ]
)

OLD_KERNELS = """\
Step Id,Model ID,Task ID,Stream ID,Name,Type,Accelerator Core,Start Time(us),Duration(us),Block Dim
1,4294967295,1266,16,Slice67,Slice,AI_VECTOR_CORE,1699529622790620.5,1.84,4
1,4294967295,1259,16,ZerosLike46,ZerosLike,AI_VECTOR_CORE,1699529622790600.25,10.5,48
1,4294967295,N/A,N/A,hcom_broadcast__445_0,hcom_broadcast_,HCCL,1699529622790611.0,30.75,0
"""
NEW_KERNELS = (
    "Device_id,Step Id,Model ID,Task ID,Stream ID,Name,Type,OP State,Accelerator Core,Start Time(us),"
    "Duration(us),Wait Time(us),Block Num,Mix Block Num,aicore_time(us),novel_column\r\n"
    '2,,1,5,7,FlashAttention,FA,dynamic,MIX_AIC,"1736413971558972.912\t",185.504,1.087,16,0,1,x\r\n'
    '2,,1,6,7,MatMulV2,MatMulV2,dynamic,AI_CORE,"1736413971559200.000\t",5.000,1.087,16,0,1,x\r\n'
    '2,,1,5,7,FlashAttention,FA,dynamic,MIX_AIC,"1736413971559972.912\t",185.504,1.087,16,0,1,x\r\n'
    "2,,4294967295,9,7,broken,MatMulV2,dynamic,AI_CORE,N/A,1,1,16,0,1,x\r\n"
)
TASK_TIME = (
    "Device_id,kernel_name,kernel_type,stream_id,task_id,task_time(us),task_start(us),task_stop(us)\n"
    '0,MatMulV3,AI_CORE,2,4,8.500,"1736413971558000.500\t","1736413971558009.000\t"\n'
    '0,N/A,NOTIFY_WAIT_SQE,2,6,20.000,"1736413971558010.000\t","1736413971558030.000\t"\n'
    '0,N/A,EVENT_RECORD_SQE,3,7,0.020,"1736413971558012.000\t","1736413971558012.020\t"\n'
    '0,Add,AI_VECTOR_CORE,3,8,4.000,"1736413971558008.000\t","1736413971558012.000\t"\n'
)


def ascend_db(path: Path) -> Path:
    """A database with the tables that Ascend's have."""
    names = ["MatMulV3", "AI_CORE", "NOTIFY_WAIT", "hcom_allReduce_", "tp", "eagle/verify #2"]
    names += ["ProfilerStep#5", "launch", "SDMA_SQE", "WRITE_VALUE_SQE", "KERNEL_AIVEC"]
    with sqlite3.connect(path) as made:
        made.executescript(
            "CREATE TABLE STRING_IDS(id INTEGER PRIMARY KEY, value TEXT);"
            "CREATE TABLE TASK(startNs, endNs, deviceId, connectionId, globalTaskId, globalPid, taskType,"
            " contextId, streamId, taskId, modelId);"
            "CREATE TABLE COMPUTE_TASK_INFO(name, globalTaskId PRIMARY KEY, blockDim, opType);"
            "CREATE TABLE COMMUNICATION_TASK_INFO(name, globalTaskId, planeId, notifyId, transportType);"
            "CREATE TABLE COMMUNICATION_OP(opName, startNs, endNs, connectionId, groupName, opId);"
            "CREATE TABLE MSTX_EVENTS(startNs, endNs, eventType, globalTid, message, domainId, connectionId);"
            "CREATE TABLE PYTORCH_API(startNs, endNs, globalTid, connectionId, name);"
            "CREATE TABLE STEP_TIME(id, startNs, endNs);"
            "CREATE TABLE NEW_TABLE(id);"
            "CREATE VIEW CANN_API AS WITH RECURSIVE n(startNs) AS (SELECT 1 UNION ALL SELECT startNs FROM n)"
            " SELECT * FROM n;"
        )
        made.executemany("INSERT INTO STRING_IDS VALUES (?, ?)", enumerate(names))
        made.executemany(
            "INSERT INTO TASK VALUES (?, ?, 0, ?, ?, 1, ?, 0, ?, ?, ?)",
            [
                (1000, 5000, 11, 1, 1, 2, 4, NO_MODEL),
                (5000, 9000, 12, 2, 2, 2, 5, NO_MODEL),
                (2000, 4500, 13, 3, 8, 7, 6, NO_MODEL),
                (900, 9500, 14, 4, None, 7, 7, NO_MODEL),
                (9000, None, 15, 5, 1, 2, 8, NO_MODEL),
            ],
        )
        made.execute("INSERT INTO COMPUTE_TASK_INFO VALUES (0, 1, 24, 0)")
        made.execute("INSERT INTO COMMUNICATION_TASK_INFO VALUES (3, 3, 0, 8, 1)")
        made.execute("INSERT INTO COMMUNICATION_OP VALUES (3, 2000, 4500, 13, 4, 1)")
        made.execute("INSERT INTO MSTX_EVENTS VALUES (800, 990, 3, 60, 5, 0, 14)")
        made.execute("INSERT INTO PYTORCH_API VALUES (700, 9900, 60, 0, 6)")
        made.execute("INSERT INTO PYTORCH_API VALUES (800, 820, 60, 11, 7)")
        made.execute("INSERT INTO STEP_TIME VALUES (5, 700, 9900)")
    made.close()
    return path


def nsight(path: Path) -> Path:
    """An export of Nsight Systems with a graph replayed twice, node by node."""
    names = ["gemm", "softmax", "cudaGraphLaunch_v10000", "eagle/draft #0", "cudaLaunchKernel"]
    with sqlite3.connect(path) as made:
        made.executescript(
            "CREATE TABLE StringIds(id INTEGER PRIMARY KEY, value TEXT);"
            "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(start, end, deviceId, contextId, streamId,"
            " correlationId, globalPid, demangledName, shortName, graphNodeId);"
            "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY(start, end, deviceId, streamId, correlationId,"
            " copyKind);"
            "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME(start, end, globalTid, correlationId, nameId);"
            "CREATE TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION(start, end, deviceId, streamId,"
            " correlationId, syncType, eventId);"
            "CREATE TABLE CUPTI_ACTIVITY_KIND_CUDA_EVENT(deviceId, streamId, correlationId, eventId);"
            "CREATE TABLE NVTX_EVENTS(start, end, eventType, text, textId, globalTid);"
            "CREATE TABLE ENUM_CUDA_MEMCPY_OPER(id, name);"
            "CREATE TABLE COMPOSITE_EVENTS(id);"
        )
        made.executemany("INSERT INTO StringIds VALUES (?, ?)", enumerate(names))
        nodes = [(4 << 32) + 1, (4 << 32) + 2]
        made.executemany(
            "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (?, ?, 0, 1, ?, ?, 1, ?, ?, ?)",
            [
                (2000, 3000, 14, 0, 0, 0, nodes[0]),
                (2500, 2900, 15, 0, 1, 1, nodes[1]),
                (6000, 7000, 14, 0, 0, 0, nodes[0]),
                (6500, 6900, 15, 0, 1, 1, nodes[1]),
                (1000, 1500, 13, 31, 1, 1, None),
                (7600, 7700, 14, 36, 1, 1, None),
                ("later", 7900, 14, 37, 1, 1, None),
            ],
        )
        made.execute("INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (7100, 7200, 0, 14, 30, 2)")
        made.executemany(
            "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (?, ?, 9, ?, ?)",
            [(900, 950, 31, 4), (1900, 1950, 32, 2), (5900, 5950, 38, 2), (7400, 7410, 36, 4)],
        )
        made.execute("INSERT INTO CUPTI_ACTIVITY_KIND_CUDA_EVENT VALUES (0, 13, 33, 6)")
        made.execute(
            "INSERT INTO CUPTI_ACTIVITY_KIND_SYNCHRONIZATION VALUES (7300, 7310, 0, 14, 34, 2, 6)"
        )
        made.executemany(
            "INSERT INTO NVTX_EVENTS VALUES (?, ?, ?, ?, ?, 9)",
            [
                (1800, 1960, 59, None, 3),
                (7390, 7500, 60, "eagle/accept #0", None),
                (0, None, 75, "d", None),
            ],
        )
    made.close()
    return path


OWN = json.dumps(
    {
        "traceEvents": [
            {"name": "process_name", "ph": "M", "pid": 1, "tid": 0, "args": {"name": "toy"}},
            {"name": "thread_name", "ph": "M", "pid": 1, "tid": 1, "args": {"name": "main"}},
            {"name": "thread_name", "ph": "M", "pid": 1, "tid": 2, "args": {"name": "host"}},
            {"name": "round 7", "cat": "round", "ph": "b", "id": 7, "pid": 1, "tid": 0, "ts": 0.0},
            {"name": "round 7", "cat": "round", "ph": "e", "id": 7, "pid": 1, "tid": 0, "ts": 9.5},
            row("capture", "g", (1, 1), 0.001, 5.0, round=7, spec="toy.spec:3"),
            row("phase", "a", (1, 1), 0.5, 2.25, round=7, spec="toy.spec:4", capture="g"),
            row("phase", "b", (1, 1), 2.75, 2.0, round=7, spec="toy.spec:5", capture="g"),
            row("wait", "wait for b", (1, 2), 1.0, 5.0, round=7, spec=""),
            row("phase", "log", (1, 2), 6.0, 3.5, round=7, spec="toy.spec:6"),
            {
                "name": "b",
                "cat": "sync",
                "ph": "s",
                "id": "4.host",
                "pid": 1,
                "tid": 1,
                "ts": 5.125,
            },
            {"name": "b", "cat": "sync", "ph": "f", "id": "4.host", "pid": 1, "tid": 2, "ts": 6.0},
        ],
        "plait": {
            "schedule": {
                "name": "toy",
                "source": ["toy.spec", "0f"],
                "target": ["cpu", "1e"],
                "settings": [["steps", 2]],
            },
            "rounds": [{"number": 7, "bucket": "bs = 4", "live": {"bs": 3}, "accepted": 8}],
        },
    }
)
