"""Traces of any content: times survive being written and read, and nothing but the one error is raised."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from drawing.profiles import ASCEND, KINETO, NEW_KERNELS, OWN, TASK_TIME, ascend_db, nsight
from plait.compiler.traces.data import as_data
from plait.compiler.traces.read import read_trace
from plait.compiler.traces.shown import text
from plait.compiler.traces.summary import summary
from plait.compiler.traces.trace_error import TraceError
from plait.runtime.trace import Record, Slice, Trace

EPOCH = 2**50
"""Nanoseconds at which a clock may stand."""
STREAMS = ("main", "side", "host")


@st.composite
def traced(draw: st.DrawFn) -> Trace:
    """What streams did, one thing after another, and whom their waits waited for."""
    trace = Trace()
    number = 0
    for stream in draw(st.permutations(STREAMS)):
        slices, records = trace.lane(stream)
        at = draw(st.integers(0, EPOCH))
        for _ in range(draw(st.integers(0, 6))):
            start = at + draw(st.integers(0, 10**9))
            at = start + draw(st.integers(0, 10**9))
            kind = draw(st.sampled_from(("phase", "load", "capture", "wait")))
            round = draw(st.integers(0, 9))
            record = 0
            if kind == "wait" and draw(st.booleans()):
                number += 1
                record = number
                source = trace.lane(draw(st.sampled_from(STREAMS)))[1]
                source.append(Record("", "e", record, start + draw(st.integers(0, at - start))))
            slices.append(Slice(stream, kind, f"n{round}", "t.spec:1", round, start, at, record))
    for stream in STREAMS:
        records = trace.lane(stream)[1]
        records[:] = [one._replace(stream=stream) for one in records]
    return trace


@given(traced())
@settings(max_examples=60)
def test_plaits_own_traces_come_back_to_the_nanosecond(trace: Trace) -> None:
    """Every slice with its stream, kind, round and times, and every wait with its record's stream."""
    wanted = sorted(
        (s.start, s.end, s.stream, s.round, f"wait for {s.name}" if s.kind == "wait" else s.name)
        for lane in trace.lanes.values()
        for s in lane
    )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "own.json"
        path.write_text(trace.to_json("drawn"))
        if not wanted:
            with pytest.raises(TraceError, match="nothing in it took time"):
                read_trace(str(path))
            return
        found = read_trace(str(path))
    zero = wanted[0][0]
    assert found.format == "Plait"
    assert wanted == sorted(
        (s.start + zero, s.end + zero, found.lanes[s.lane].stream, s.round, s.name)
        for s in found.slices
    )
    reached = {r.number: r for lane in trace.records.values() for r in lane}
    waits = [s for lane in trace.lanes.values() for s in lane if s.kind == "wait"]
    # Two waits of a stream that end at one moment cannot be told apart; any other is its own.
    ends = [(s.stream, s.end) for s in waits]
    for join in found.joins:
        waiter, until = found.lanes[join.waiter].stream, join.until + zero
        if ends.count((waiter, until)) > 1:
            continue
        [wait] = [s for s in waits if (s.stream, s.end) == (waiter, until)]
        assert join.at + zero == wait.start
        if wait.record:
            assert found.lanes[join.source_lane].stream == reached[wait.record].stream
            assert (
                join.source < 0 or found.slices[join.source].end + zero <= reached[wait.record].at
            )
        else:
            assert join.source_lane == -1


def tried(data: bytes) -> None:
    """Reads a file of this content and shows it, or is refused with a line about it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "file"
        path.write_bytes(data)
        try:
            trace = read_trace(str(path), 1 << 24)
        except TraceError as error:
            assert str(error).startswith(str(path)) and "\n" not in str(error)
            return
        found = summary(trace)
        assert text(found) and json.dumps(as_data(found))


def _database(make) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        return make(Path(folder) / "db").read_bytes()


TEXTS = [KINETO, ASCEND, OWN, NEW_KERNELS, TASK_TIME]
FILES = [text.encode() for text in TEXTS] + [_database(ascend_db), _database(nsight)]


@given(st.integers(0, len(FILES) - 1), st.data())
@settings(max_examples=150)
def test_damaged_files_give_the_one_error_or_a_trace(number: int, data: st.DataObject) -> None:
    """Cut off, with bytes changed, taken out or put in: nothing else is raised."""
    file = FILES[number]
    damaged = bytearray(
        file[: data.draw(st.integers(0, len(file)))] if data.draw(st.booleans()) else file
    )
    for _ in range(data.draw(st.integers(0, 4))):
        at = data.draw(st.integers(0, len(damaged)))
        size = data.draw(st.integers(0, 8))
        damaged[at : at + size] = data.draw(st.binary(max_size=8))
    tried(bytes(damaged))


ODD = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=True)
    | st.text(max_size=8)
    | st.sampled_from(
        ["X", "M", "s", "f", "b", "e", "1e999", "-0.0005", "1_0", "\u0663", 2**70, -(2**63)]
    ),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=4,
)
EVENTS = [json.loads(text) for text in (KINETO, ASCEND, OWN)]


@given(st.integers(0, len(EVENTS) - 1), st.data())
@settings(max_examples=150)
def test_events_with_odd_fields_give_the_one_error_or_a_trace(
    number: int, data: st.DataObject
) -> None:
    """Whatever stands where a profiler writes a time, a name, a number or a mapping of them."""
    found = json.loads(json.dumps(EVENTS[number]))
    events = found if isinstance(found, list) else found["traceEvents"]
    for _ in range(data.draw(st.integers(1, 4))):
        event = events[data.draw(st.integers(0, len(events) - 1))]
        place = event
        if isinstance(event.get("args"), dict) and event["args"] and data.draw(st.booleans()):
            place = event["args"]
        place[data.draw(st.sampled_from(sorted(place)))] = data.draw(ODD)
    tried(json.dumps(found).encode())
