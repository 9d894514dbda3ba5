"""Real traces of public repositories, where they lie beside the project: what they are known to hold."""

from __future__ import annotations

import json
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest

from plait.compiler.traces.model import Trace
from plait.compiler.traces.read import read_trace
from plait.compiler.traces.summary import summary
from plait.compiler.traces.trace_error import TraceError

FOLDER = Path(__file__).parents[4] / "shared" / "traces"
SORTS = {
    "trace_view.json": "Ascend trace_view",
    "kernel_details_backend.csv": "Ascend kernel_details",
    "kernel_details_small.csv": "Ascend kernel_details",
}

pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason="no shared traces beside the project")


def read(name: str) -> Trace:
    [path] = FOLDER.glob(f"*/{name}")
    return read_trace(str(path))


def joined(trace: Trace) -> list[tuple[str, str]]:
    """Of joins with a source the streams."""
    return [
        (trace.lanes[join.source_lane].stream, trace.lanes[join.waiter].stream)
        for join in trace.joins
        if join.source >= 0
    ]


def test_totals_of_the_ascend_sample() -> None:
    """To the nanosecond, though its times are beyond what floats tell apart."""
    trace = read("trace_view.json")
    found = summary(trace)
    assert [(one.kind, one.slices, one.time) for one in found.kinds] == [
        ("compute", 276, 1_790_457)
    ]
    assert found.span == 11_269_917
    arrows = {flow.category: flow for flow in trace.arrows}
    assert arrows["async_npu"].pairs == arrows["HostToDevice"].pairs == 274
    assert len(trace.flows) == 274 and sum(one.issued >= 0 for one in trace.slices) == 274
    assert trace.overlaps == [] and trace.unknown == {}
    assert [(w.name, len(w.slices)) for w in trace.windows][:1] == [("ProfilerStep#1", 274)]


def test_both_headers_of_kernel_details() -> None:
    """An older and a newer one: rows, streams and communication without one."""
    old, new = read("kernel_details_backend.csv"), read("kernel_details_small.csv")
    streams = Counter(old.lanes[one.lane].stream for one in old.slices)
    assert len(old.slices) == 591 and streams["communication"] == 19 and set(streams) > {"16", "17"}
    assert len(new.slices) == 29 and [one.number for one in new.rounds] == [19]
    assert old.unknown == new.unknown == {}


def test_what_says_nothing_of_time_is_refused() -> None:
    """Names that are numbers, totals and lists of files are no traces, and say so."""
    for name in (
        "event_list.json",
        "cluster_communication.json",
        "cluster_step_trace_time.csv",
        "sglang_decode_capture_traces_execution_details.json",
    ):
        with pytest.raises(TraceError):
            read(name)


def test_seventy_graph_launches() -> None:
    """Each is one replay; four more were launched before the trace began."""
    trace = read("negative_queue_length_rank0.json.gz")
    launched = Counter(len(one.slices) for one in trace.replays if one.launch >= 0)
    assert launched == {1: 25, 2: 15, 3: 15, 20: 10, 9: 5}
    assert len(trace.replays) == 74
    assert (trace.coverage.graphs, trace.coverage.graphs_seen) == (70, 70)
    assert "of 425 waits for events the trace says of 0 which stream waits" in trace.notes


def test_replays_of_whole_decodes() -> None:
    """One launch of 544 kernels and one of 421, without arrows, in the step that launched them."""
    for name, size, range in (
        ("sglang_decode_sglang_Qwen3-8B_decode.json.gz", 544, "step[DECODE bs=32]"),
        ("vllm_decode_full_graph_execution.json.gz", 421, "execute_32_context_0"),
    ):
        trace = read(name)
        [replay] = trace.replays
        assert len(replay.slices) == size and "GraphLaunch" in trace.slices[replay.launch].name
        [window] = [w for w in trace.windows if w.name.startswith(range) and len(w.slices) > size]
        assert set(replay.slices) <= set(window.slices)


def test_the_smallest_join() -> None:
    """Stream 24 waits for the kernel of stream 20."""
    trace = read("critical_path_cuda_event_sync_multi_stream_event_sync_trace.json.gz")
    [join] = trace.joins
    assert joined(trace) == [("20", "24")]
    assert trace.slices[join.source].name == "ampere_sgemm_128x64_nn"
    assert trace.slices[join.then].name == "Memset (Device)"


def test_waits_for_streams_that_did_nothing() -> None:
    """Of 20 waits six have something to wait for, or none."""
    trace = read("critical_path_alexnet_*")
    assert len(trace.joins) == 20
    assert joined(trace) == [("20", "7")] * 2 + [("7", "20")] * 4
    trace = read("critical_path_simple_add_*")
    assert len(trace.joins) == 20 and joined(trace) == []


def test_all_that_lie_there_are_read_or_refused() -> None:
    """Nothing crashes, what is shown of each is JSON, and slices stand in order."""
    from plait.compiler.traces.data import as_data
    from plait.compiler.traces.shown import text

    for path in sorted(FOLDER.glob("*/*")):
        if path.name.startswith("negative_queue"):
            continue  # read above, and large
        try:
            trace = read_trace(str(path))
        except TraceError as error:
            assert str(error).startswith(str(path))
            continue
        assert trace.format == SORTS.get(path.name, "Kineto")
        assert all(a[1:3] <= b[1:3] or a.start < b.start for a, b in pairwise(trace.slices))
        found = summary(trace)
        assert text(found) and json.dumps(as_data(found))
