"""What is read of Ascend's traces, tables and databases."""

from __future__ import annotations

from pathlib import Path

from drawing.profiles import ASCEND, NEW_KERNELS, OLD_KERNELS, TASK_TIME, ascend, ascend_db, task
from plait.compiler.traces.model import Lane, Round, Trace
from plait.compiler.traces.read import read_trace


def on(trace: Trace, stream: str) -> list[tuple[str, str, int, int]]:
    return [
        (one.name, one.kind, one.start, one.end)
        for one in trace.slices
        if trace.lanes[one.lane].stream == stream
    ]


def test_a_trace_has_its_layers_by_name(read) -> None:
    """Tasks by stream, with waits that are no work, marks, communication and its planes, in exact times."""
    trace = read(ASCEND)
    assert trace.format == "Ascend trace_view" and trace.zero == 1704161511422904_000
    assert on(trace, "2") == [
        ("MatMulV3", "compute", 10_000, 22_770),
        ("eagle/draft #4", "range", 30_000, 52_000),
        ("MODEL_EXECUTE", "launch", 31_000, 31_500),
        ("NOTIFY_WAIT", "wait", 31_500, 47_500),
        ("EVENT_WAIT", "wait", 48_000, 51_000),
        ("Later", "compute", 51_000, 52_000),
        ("MEMCPY_ASYNC", "copy", 52_500, 53_000),
        ("Odd", "compute", 53_500, 54_000),
        ("HcclAllreduce", "range", 60_000, 62_000),
    ]
    assert on(trace, "5") == [
        ("Attention", "compute", 32_000, 42_000),
        ("MoeDistributeDispatch", "communication", 42_000, 47_250),
        ("EVENT_RECORD", "record", 47_250, 47_270),
    ]
    assert on(trace, "Group tp Communication") == [
        ("hcom_allReduce__428_0_1", "communication", 60_000, 62_000)
    ]
    assert on(trace, "Plane 0") == [("Notify_Wait", "wait", 60_250, 61_250)]
    assert trace.stated == {"Computing": 12_770}
    assert trace.unknown == {"process without a name": 1, "task type 'QUANTUM_SQE'": 1}
    assert trace.lanes[trace.slices[-1].lane].device == "npu 3"


def test_tasks_of_a_model_are_one_replay_until_the_notify(read) -> None:
    """From the task that launches it to the first wait behind that on its stream."""
    trace = read(ASCEND)
    [replay] = trace.replays
    assert [trace.slices[place].name for place in replay.slices] == [
        "Attention",
        "MoeDistributeDispatch",
    ]
    assert trace.slices[replay.launch].name == "MODEL_EXECUTE" and replay.graph == "model 1"
    assert trace.coverage.graphs == trace.coverage.graphs_seen == 1


def test_tasks_of_a_model_without_its_launch_are_counted_apart(read) -> None:
    """A task is in a replay once, so its second time begins the second replay."""
    names = [("a", 1), ("b", 2), ("a", 1), ("b", 2)]
    rows = [task(n, 5, f"{10 * k}.000", 4, "AI_CORE", 9, task=t) for k, (n, t) in enumerate(names)]
    trace = read(ascend(rows))
    assert [(r.start, r.end, r.launch) for r in trace.replays] == [
        (0, 14_000, -1),
        (20_000, 34_000, -1),
    ]


def test_an_operation_of_two_tasks_is_no_replay(read) -> None:
    """They share a connection, which on Ascend is an operation and not a launch."""
    rows = [
        task(n, 2, at, 1, "AI_CORE", connection_id=4) for n, at in (("a", "0.000"), ("b", "1.000"))
    ]
    assert read(ascend(rows)).replays == []


def test_a_launched_graph_without_tasks_is_low_coverage(read) -> None:
    """As when the profiler shows nothing of a replay but its launch."""
    rows = [
        task("MODEL_EXECUTE", 2, "0.000", 1, "MODEL_EXECUTE"),
        task("NOTIFY_WAIT", 2, "1.000", 9, "NOTIFY_WAIT"),
        task("Add", 2, "10.000", 9, "AI_CORE"),
    ]
    assert read(ascend(rows)).notes == [
        "low coverage: of 1 graph launches 1 have no kernel in the trace"
    ]


def test_an_operation_knows_who_asked_for_it(read) -> None:
    """Issued when CANN launched it; in a range when the thread of Python asked for it there."""
    trace = read(ASCEND)
    [matmul] = [one for one in trace.slices if one.name == "MatMulV3"]
    assert matmul.issued == 2500
    assert [(trace.slices[a].name, trace.slices[b].name) for a, b in trace.flows] == [
        ("Node@launch", "MatMulV3")
    ]
    steps = [w for w in trace.windows if w.name == "ProfilerStep#4"]
    assert [(w.how, len(w.slices)) for w in steps] == [("projected", 1)]
    assert trace.rounds == [Round(4, 10_000, 22_770)]


def test_a_mark_with_a_stream_is_a_window_of_it(read) -> None:
    """It names phase and round of what lies in it, and of what a graph ran that was launched in it."""
    trace = read(ASCEND)
    windows = [w for w in trace.windows if w.name == "eagle/draft #4"]
    assert [(trace.lanes[w.lane].stream, w.how, w.start, w.end) for w in windows] == [
        ("2", "device", 30_000, 52_000),
        ("5", "device", 32_000, 47_250),
    ]
    phases = {one.name: (one.phase, one.round) for one in trace.slices}
    assert phases["Later"] == phases["Attention"] == ("draft", 4)
    assert phases["MatMulV3"] == ("", -1)


def test_a_profiler_that_pauses_is_told(read) -> None:
    """What is blank behind such tasks is of the profiler, not of the round."""
    rows = [
        task("CAPTURE_WAIT", 2, "0.000", 1, "CAPTURE_WAIT"),
        task("Add", 2, "9.000", 9, "AI_CORE"),
    ]
    assert read(ascend(rows)).notes == [
        "what is blank behind these the profiler may not have seen: CAPTURE_WAIT 1"
    ]


def test_both_headers_of_kernel_details(read) -> None:
    """With or without a device, in any order, tabs and `N/A` and all, and columns that are new are named."""
    old, new = read(OLD_KERNELS), read(NEW_KERNELS)
    assert on(old, "16") == [
        ("ZerosLike46", "compute", 0, 10_500),
        ("Slice67", "compute", 20_250, 22_090),
    ]
    assert on(old, "communication") == [("hcom_broadcast__445_0", "communication", 10_750, 41_500)]
    assert old.rounds == [Round(1, 0, 41_500)] and old.unknown == {}
    assert new.lanes == [Lane("npu 2", "7", "Stream 7")]
    assert [(r.graph, len(r.slices)) for r in new.replays] == [("model 1", 2), ("model 1", 1)]
    assert new.unknown == {"column 'novel_column'": 1, "rows without a start and a duration": 1}


def test_task_time_has_waits_that_are_not_busy(read) -> None:
    """Tasks are named by their type where they have no name, and end when the file says."""
    trace = read(TASK_TIME)
    assert on(trace, "2") == [
        ("MatMulV3", "compute", 0, 8500),
        ("NOTIFY_WAIT_SQE", "wait", 9500, 29_500),
    ]
    assert on(trace, "3") == [
        ("Add", "compute", 7500, 11_500),
        ("EVENT_RECORD_SQE", "record", 11_500, 11_520),
    ]
    [join] = trace.joins
    assert (join.at, join.until, join.source) == (9500, 29_500, -1)


def test_a_database_gives_what_a_trace_does(tmp_path: Path) -> None:
    """Tasks, communication, marks on a stream, steps and calls; a view is not run, whatever it is called."""
    path = ascend_db(tmp_path / "ascend #1?.db")
    before = path.read_bytes()
    trace = read_trace(str(path))
    assert path.read_bytes() == before and [one.name for one in tmp_path.iterdir()] == [path.name]
    assert trace.format == "Ascend database" and trace.zero == 700
    assert on(trace, "2") == [
        ("MatMulV3", "compute", 300, 4300),
        ("NOTIFY_WAIT", "wait", 4300, 8300),
    ]
    assert on(trace, "7") == [
        ("eagle/verify #2", "range", 200, 8800),
        ("hcom_allReduce_", "communication", 1300, 3800),
    ]
    assert on(trace, "Group tp Communication") == [("hcom_allReduce_", "communication", 1300, 3800)]
    assert trace.rounds == [Round(5, 0, 9200)]
    assert {one.phase for one in trace.slices if one.kind == "communication"} == {"verify", ""}
    assert [(trace.slices[a].name, trace.slices[b].name) for a, b in trace.flows] == [
        ("launch", "MatMulV3")
    ]
    assert trace.unknown == {"table 'NEW_TABLE'": 1, "tasks without a start and an end": 1}
