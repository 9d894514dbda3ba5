"""The trace of a run: valid for Perfetto, one lane a stream, in the order the schedule gives."""

from __future__ import annotations

import json
import time
from itertools import pairwise

import pytest
import torch

from plait.runtime.bind import bind
from plait.runtime.devices.replayers import KINDS, VARIABLE
from plait.runtime.schedule_json import to_json
from plait.runtime.schedule_reader import from_json
from plait.runtime.trace import Trace

SPEC = """\
spec 1
pipeline traced {
  stream main
  stream side
  buffer x : i64[4] carried
  buffer y : i64[4]
  buffer z : i64[4] on host copies 2
  phase make on main { updates x }
  fork side from make
  phase look on side { reads x  writes y }
  join side into main
  capture g on main rows 4 { phase take on main { reads y  updates x } }
  phase out on main { reads x  writes z }
  join prev out into host
  phase log on host { reads prev z }
}
"""


def run(compiled, rounds: int = 5, turns: int = 0) -> Trace:
    trace = Trace(turns)
    bodies = {
        "make": lambda x: x.add_(1),
        "look": lambda x, y: torch.mul(x, 2, out=y),
        "take": lambda x, y: x.add_(y),
        "out": lambda x, z: z.copy_(x),
        "log": lambda z: None,
    }
    with bind(compiled(SPEC), bodies, trace=trace) as runner:
        for _ in range(rounds):
            runner.step()
        runner.drain()
    return trace


def test_the_text_is_of_the_trace_event_form(compiled) -> None:
    """Fields and types are those of the trace-event format; begins have ends, arrows two points."""
    trace = run(compiled)
    data = json.loads(trace.to_json("traced"))
    assert set(data) == {"traceEvents", "displayTimeUnit"}
    lanes = {e["tid"]: e["args"]["name"] for e in data["traceEvents"] if e["name"] == "thread_name"}
    assert sorted(lanes.values()) == ["host", "main", "side"]
    open_rounds: dict[int, int] = {}
    arrows: dict[int, list[str]] = {}
    for event in data["traceEvents"]:
        assert isinstance(event["name"], str) and event["ph"] in "MXbesf" and event["pid"] == 1
        if event["ph"] == "X":
            assert event["dur"] >= 0 and event["ts"] >= 0 and event["tid"] in lanes
            assert set(event["args"]) - {"capture"} == {"round", "spec"}
        elif event["ph"] in "be":
            open_rounds[event["id"]] = open_rounds.get(event["id"], 0) + (event["ph"] == "b")
        elif event["ph"] in "sf":
            assert isinstance(event["id"], int)  # Perfetto draws no arrow of another
            arrows.setdefault(event["id"], []).append(event["ph"])
    assert open_rounds == dict.fromkeys(range(5), 1)
    assert arrows and all(sorted(points) == ["f", "s"] for points in arrows.values())


def test_rounds_captures_and_waits_are_there(compiled) -> None:
    """Each round has each phase once, also those in a capture's one launch, and every wait."""
    trace = run(compiled)
    for number in range(5):
        here = [s for lane in trace.lanes.values() for s in lane if s.round == number]
        names = sorted((s.kind, s.name) for s in here)
        expected = [
            ("capture", "g"),
            ("load", "load g"),
            ("phase", "log"),
            ("phase", "look"),
            ("phase", "make"),
            ("phase", "out"),
            ("phase", "take"),
            ("wait", "look"),
            ("wait", "make"),
        ]
        expected += [("wait", "out")] * (number > 0)
        assert names == sorted(expected)


def test_what_ran_kept_the_order_of_the_schedule(compiled) -> None:
    """On every lane nothing overlaps, and no wait ends before the record it waited for."""
    trace = run(compiled, rounds=50)
    for lane in trace.lanes.values():
        for one, other in pairwise(s for s in lane if not s.capture):
            assert one.start <= one.end <= other.start
    reached = {record.number: record.at for lane in trace.records.values() for record in lane}
    waits = [s for lane in trace.lanes.values() for s in lane if s.record]
    assert len(waits) >= 140
    for wait in waits:
        assert reached[wait.record] <= wait.end
    by_name = {
        (s.name, s.round): s for lane in trace.lanes.values() for s in lane if s.kind != "wait"
    }
    for number in range(50):
        assert by_name["make", number].end <= by_name["look", number].start
        assert by_name["look", number].end <= by_name["load g", number].start
        if number:
            assert by_name["out", number - 1].end <= by_name["log", number].start


def test_long_phases_of_two_streams_overlap_round_after_round(compiled) -> None:
    """A host that only issues rounds does short work itself, but long work still runs side by side."""
    schedule = compiled(
        "pipeline p {\n stream a\n stream b\n buffer x : i64[2] carried\n buffer y : i64[2] carried\n"
        " phase one on a { updates x }\n phase two on b { updates y }\n"
        " join prev one into host\n join prev two into host\n}"
    )
    trace = Trace()
    bodies = {"one": lambda x: time.sleep(0.003), "two": lambda y: time.sleep(0.003)}
    with bind(schedule, bodies, trace=trace) as runner:
        for _ in range(30):
            runner.step()
        runner.drain()
    one, two = ([s for s in trace.lanes[name] if s.kind == "phase"] for name in "ab")
    beside = sum(a.start < b.end and b.start < a.end for a, b in zip(one, two, strict=True))
    assert beside >= 20


@pytest.mark.parametrize("kind", KINDS)
def test_what_a_graph_holds_has_slices_within_its_own(
    compiled, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However it is replayed, its phases lie in it, one after the other, under their own lines."""
    monkeypatch.setenv(VARIABLE, kind)
    trace = run(compiled)
    replays = [s for s in trace.lanes["main"] if s.kind == "capture"]
    inside = [s for s in trace.lanes["main"] if s.capture]
    assert [(s.name, s.capture, s.round, s.place) for s in inside] == [
        ("take", "g", number, "test.spec:12") for number in range(5)
    ]
    for replay, phase in zip(replays, inside, strict=True):
        assert replay.start <= phase.start <= phase.end <= replay.end


def test_rounds_in_turns_are_noted_or_only_timed(compiled) -> None:
    """Every other turn has no slices, and of every round it is known when it was issued."""
    trace = run(compiled, rounds=12, turns=3)
    noted = {s.round for lane in trace.lanes.values() for s in lane}
    assert noted == {0, 1, 2, 6, 7, 8}
    assert [one.number for one in trace.begun] == list(range(12))
    assert all(one.at < one.issued for one in trace.begun)


def test_a_trace_says_what_it_is_of(compiled) -> None:
    """The schedule, every round's bucket, and the captured phases' own times, all beside the events."""
    schedule = compiled(SPEC)
    found = json.loads(run(compiled, turns=2).to_json("traced", schedule))["plait"]
    assert to_json(from_json(json.dumps(found["schedule"]))) == to_json(schedule)
    assert [one["noted"] for one in found["rounds"]] == [True, True, False, False, True]
    assert {one["bucket"] for one in found["rounds"]} == {"any"}
    assert {(one["bucket"], one["phase"]) for one in found["beside"]} == {("any", "take")}
    assert all(one["took"] > 0 for one in found["beside"])
