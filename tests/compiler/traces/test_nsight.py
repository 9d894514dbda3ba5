"""What is read of Nsight Systems' databases."""

from __future__ import annotations

from pathlib import Path

import pytest

from drawing.profiles import nsight
from plait.compiler.traces.model import Trace
from plait.compiler.traces.read import read_trace


@pytest.fixture
def trace(tmp_path: Path) -> Trace:
    return read_trace(str(nsight(tmp_path / "report.sqlite")))


def names(trace: Trace, places) -> list[str]:
    return [trace.slices[place].name for place in places]


def test_a_node_is_in_every_replay_once(trace: Trace) -> None:
    """Two replays of one graph on two streams, each with the launch that came k-th."""
    assert [(r.graph, names(trace, r.slices), r.start, r.end) for r in trace.replays] == [
        ("4", ["gemm", "softmax"], 1100, 2100),
        ("4", ["gemm", "softmax"], 5100, 6100),
    ]
    assert [trace.slices[r.launch].start for r in trace.replays] == [1000, 5000]
    assert {one.issued for one in trace.slices if one.replay == 1} == {5000}


def test_a_wait_leads_to_the_last_record_of_its_event(trace: Trace) -> None:
    """The source ran on the stream that recorded it; what comes next on the other was issued after."""
    [join] = trace.joins
    assert trace.lanes[join.source_lane].name == "stream 13"
    assert trace.slices[join.source].end == 600 and trace.slices[join.then].start == 6700


def test_ranges_of_nvtx_are_projected(trace: Trace) -> None:
    """From launches in them to kernels; domains and what did not end are no ranges."""
    assert [(w.name, w.how, names(trace, w.slices)) for w in trace.windows] == [
        ("eagle/draft #0", "projected", ["gemm"]),
        ("eagle/draft #0", "projected", ["softmax"]),
        ("eagle/accept #0", "projected", ["softmax"]),
    ]


def test_copies_and_what_is_unknown_have_names(trace: Trace) -> None:
    """A copy says between what, and a table that nobody reads is named."""
    assert [one.name for one in trace.slices if one.kind == "copy"] == ["Memcpy DtoH"]
    assert trace.unknown == {"rows without a start and an end": 1, "table 'COMPOSITE_EVENTS'": 1}
