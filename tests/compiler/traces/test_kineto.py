"""What is read of `torch.profiler`'s traces."""

from __future__ import annotations

import gzip
from pathlib import Path

import torch

from drawing.profiles import KINETO, MAIN, PYTHON, SIDE, WORKER, kernel, kineto, launch, named, row
from plait.compiler.traces.model import Join, Round, Trace
from plait.compiler.traces.read import read_trace


def names(trace: Trace, places) -> list[str]:
    return [trace.slices[place].name for place in places]


def test_times_are_the_decimals_of_the_file(read) -> None:
    """Nanoseconds that no float of that size can tell apart stay as they stand in the file."""
    late = 1704161511422904
    text = kineto([row("kernel", f"k{n}", MAIN, 0, 0) for n in range(3)])
    for part, each in (("001", "0.001"), ("002", "0.25"), ("999", "1.0005")):
        text = text.replace('"ts": 0, "dur": 0', f'"ts": {late}.{part}, "dur": {each}', 1)
    trace = read(text)
    assert trace.zero == late * 1000 + 1
    assert [(one.start, one.end) for one in trace.slices] == [(0, 1), (1, 251), (998, 1999)]


def test_a_launch_of_a_graph_is_one_replay(read) -> None:
    """All kernels of one graph launch are one node, with the launch and from its first to its last."""
    trace = read(KINETO)
    [replay] = trace.replays
    assert names(trace, [replay.launch]) == ["cudaGraphLaunch"]
    assert names(trace, replay.slices) == ["void gemm<128, 64>(float*)", "softmax"]
    assert (replay.start, replay.end) == (40_001, 64_501)
    assert trace.coverage == (3, 3, 1, 1)


def test_a_join_comes_from_the_recorded_stream(read) -> None:
    """Its source is what that stream was given before the record, not what its thread launched last."""
    trace = read(KINETO)
    [join] = trace.joins
    assert (trace.lanes[join.waiter].name, trace.lanes[join.source_lane].name) == (
        "stream 7",
        "stream 20",
    )
    assert names(trace, [join.source, join.then]) == ["plan_kernel", "ncclDevKernel_AllReduce"]


def test_a_wait_that_names_no_record_has_no_source(read) -> None:
    """CUDA leaves it open at times: the join is there, and its source is unknown."""
    open = KINETO.replace('"wait_on_cuda_event_record_corr_id": 14', '"wait_on_nothing": 1')
    [join] = read(open).joins
    assert join == Join(join.waiter, 32_000, -1, join.source_lane, -1, join.then)
    nowhere = open.replace('"wait_on_stream": 20', '"wait_on_stream": -1')
    assert read(nowhere).joins[0].source_lane == -1


def test_ranges_of_a_host_cover_what_was_launched_in_them(read) -> None:
    """By whatever thread; the marks of Plait name phase and round of it, the innermost ones."""
    trace = read(KINETO)
    found = [(w.name, trace.lanes[w.lane].name, names(trace, w.slices)) for w in trace.windows]
    assert found == [
        (
            "eagle #3",
            "stream 7",
            ["void gemm<128, 64>(float*)", "softmax", "ncclDevKernel_AllReduce"],
        ),
        ("eagle/draft #3", "stream 7", ["void gemm<128, 64>(float*)", "softmax"]),
        ("eagle #3", "stream 20", ["plan_kernel", "behind_the_record"]),
        ("eagle/plan #3", "stream 20", ["plan_kernel"]),
    ]
    phases = {one.name: (one.phase, one.round) for one in trace.slices if one.phase}
    assert phases["softmax"] == ("draft", 3) and phases["plan_kernel"] == ("plan", 3)
    assert trace.rounds == [Round(3, 40_001, 85_000)]


def test_ranges_of_several_threads_are_told_apart_by_who_launched(read) -> None:
    """Where two threads have a range open, each has its own launches, and a third thread's are nobody's."""
    events = [
        row("user_annotation", "one", PYTHON, 0, 100),
        row("user_annotation", "other", WORKER, 10, 100),
        launch("cudaLaunchKernel", PYTHON, 20, 1),
        launch("cudaLaunchKernel", WORKER, 20, 2),
        launch("cudaLaunchKernel", (51, 53), 20, 3),
        *(kernel(f"k{n}", MAIN, 30 + 10 * n, 5, n) for n in (1, 2, 3)),
    ]
    trace = read(kineto(events))
    assert {w.name: names(trace, w.slices) for w in trace.windows} == {
        "one": ["k1"],
        "other": ["k2"],
    }
    assert trace.notes == [
        "1 slices were launched by a thread without a range while several others had one open; they are in "
        "the window of none of these"
    ]


def test_a_range_on_the_device_is_taken_before_its_host_twin(read) -> None:
    """What lies in `gpu_user_annotation` on its stream is the window, and the host's is not projected."""
    events = [
        row("user_annotation", "draft", PYTHON, 0, 100),
        launch("cudaLaunchKernel", PYTHON, 20, 1),
        row("gpu_user_annotation", "draft", MAIN, 28, 30),
        kernel("inside", MAIN, 30, 10, 1),
        kernel("too late", MAIN, 50, 10, 2),
    ]
    [window] = read(kineto(events)).windows
    assert (window.how, window.start, window.end) == ("device", 28_000, 58_000)
    assert len(window.slices) == 1


def test_kernels_that_say_their_node_are_of_the_replay_of_that_turn(read) -> None:
    """Without a correlation, the k-th time that a node of a graph comes is in its k-th replay."""
    nodes = [("a", 5, 0), ("b", 6, 10), ("a", 5, 100), ("b", 6, 110)]
    events = [
        row("kernel", name, MAIN, at, 4, **{"graph id": 3, "graph node id": node})
        for name, node, at in nodes
    ]
    trace = read(kineto(events))
    assert [(r.graph, r.start, r.end) for r in trace.replays] == [
        ("3", 0, 14_000),
        ("3", 100_000, 114_000),
    ]


def test_kernels_without_a_launch_are_no_replay(read) -> None:
    """Correlation 0 is none; any other that several share is a launch from before the trace."""
    lost = [kernel("k", MAIN, at, 1, 0) for at in (0, 10)]
    assert read(kineto(lost)).replays == []
    [replay] = read(kineto([*lost, *(kernel("k", MAIN, at, 1, 5) for at in (20, 30))])).replays
    assert (replay.launch, replay.slices) == (-1, (2, 3))


def test_a_replay_that_lost_most_of_its_kernels_is_told(read) -> None:
    """Less than half of what the same graph has elsewhere, or a launch without anything, is low coverage."""
    events = [launch("cudaGraphLaunch", PYTHON, 100 * n, n) for n in (1, 2, 3)]
    for n, size in ((1, 5), (2, 1)):
        events += [
            kernel("k", MAIN, 100 * n + 10 * m, 5, n, **{"graph id": 3, "graph node id": m + 1})
            for m in range(size)
        ]
    trace = read(kineto(events))
    assert trace.coverage.graphs == 3 and trace.coverage.graphs_seen == 2
    assert trace.notes == [
        "low coverage: of 3 graph launches 1 have no kernel in the trace",
        "low coverage: 1 of 2 replays hold less than half of what the same graph holds in another",
    ]


def test_overlap_on_one_stream_is_a_finding_and_on_two_is_not(read) -> None:
    """Slices that cross or nest on a stream cannot be; on two streams they are what streams are for."""
    events = [
        kernel("long", MAIN, 0, 100, 1),
        kernel("nested", MAIN, 10, 10, 2),
        kernel("crossing", MAIN, 90, 20, 3),
        kernel("beside", SIDE, 0, 100, 4),
        kernel("next", MAIN, 110, 1, 5),
    ]
    trace = read(kineto(events))
    assert [tuple(names(trace, pair)) for pair in trace.overlaps] == [
        ("long", "nested"),
        ("long", "crossing"),
    ]


def test_everything_unknown_is_named(read) -> None:
    """Categories, phases of events, arrows and broken rows are counted, and nothing is dropped in silence."""
    events = [
        kernel("k", MAIN, 0, 1, 1),
        row("hpu_op", "h", PYTHON, 0, 1),
        {"ph": "Z", "name": "z"},
        kernel("no time", MAIN, "soon", 1, 2),
        kernel("backwards", MAIN, 5, -1, 3),
        {"ph": "s", "cat": "ac2g", "ts": 1},
        17,
        {"ph": "X", "cat": "kernel", "ts": 1, "pid": [], "tid": 1, "name": "k"},
    ]
    assert read(kineto(events)).unknown == {
        "arrows without a category and a number": 1,
        "category 'hpu_op'": 1,
        "events of ph 'Z'": 1,
        "events that end before they begin": 1,
        "events without the fields of one": 3,
    }


def test_a_trace_of_a_cpu_by_the_real_profiler(tmp_path: Path) -> None:
    """What torch records of a CPU: ranges are windows of their own, operators host work, no device."""
    from torch.profiler import ProfilerActivity, profile, record_function

    with profile(activities=[ProfilerActivity.CPU]) as profiler:
        for number in range(3):
            with record_function(f"toy #{number}"), record_function(f"toy/add #{number}"):
                torch.ones(8).add_(1)
    path = tmp_path / "trace.json"
    profiler.export_chrome_trace(str(path))
    trace = read_trace(str(path))
    assert trace.format == "Kineto" and trace.unknown == {}
    assert [one.number for one in trace.rounds] == [0, 1, 2]
    assert [(w.name, w.how, w.depth) for w in trace.windows[:2]] == [
        ("toy #0", "host", 0),
        ("toy/add #0", "host", 1),
    ]
    assert sum(one.name == "aten::add_" and one.kind == "host" for one in trace.slices) == 3
    for outer, inner in zip(trace.rounds, trace.windows[1::2], strict=True):
        assert outer.start <= inner.start <= inner.end <= outer.end


def test_gzip_and_a_list_at_the_top_read_alike(tmp_path: Path, read) -> None:
    """A file is expanded whatever its name, and events need no object around them."""
    path = tmp_path / "trace"
    path.write_bytes(gzip.compress(KINETO.encode()))
    assert read_trace(str(path)).slices == read(KINETO).slices
    bare = kineto([named("thread_name", MAIN, "stream 7 "), kernel("k", MAIN, 3, 1, 1)])
    events = bare[bare.index("[") : -1]
    assert read(events).slices == read(bare).slices
