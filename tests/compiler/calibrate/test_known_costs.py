"""From a trace whose costs are known, those costs: a simulation is written as a run would write it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plait.compiler.calibrate.against import against
from plait.compiler.calibrate.fit import fitted
from plait.compiler.calibrate.own import own_samples
from plait.compiler.calibrate.samples import CalibrateError
from plait.compiler.timing.costs import Cost, HostCosts, Law, Profile, StreamCosts
from plait.compiler.timing.costs_file import load_profile
from plait.compiler.timing.costs_written import written
from plait.compiler.timing.simulate import simulate
from plait.compiler.timing.steady import steady
from plait.runtime.schedule import HOST, Schedule
from plait.runtime.schedule_check import ScheduleError
from plait.runtime.schedule_json import to_json
from plait.runtime.schedule_reader import from_json

SPEC = """\
spec 1
pipeline known {
  param steps = 1
  dim bs in [1, 2, 4, 8]
  stream main
  stream side
  buffer x : i64[bs] carried
  buffer y : i64[bs]
  buffer z : i64[bs] on host copies 2
  phase make on main { updates x }
  fork side from make
  phase look on side { reads x  writes y }
  join side into main
  capture g on main rows bs { for i in 1 .. steps + 1 { phase take[i] on main { reads y  updates x } } }
  phase out on main { reads x  writes z }
  join prev out into host
  phase log on host { reads prev z }
}
"""
TRUTH = Profile(
    "truth",
    "cpu",
    (),
    HostCosts(run=500, replay=500, load=500, record=500, wait=500),
    StreamCosts(load=3000, replay=2000),
    (
        ("make", Cost(Law(20_000, 1_000_000))),
        ("look", Cost(Law(points=((1, 90_000), (2, 90_000), (4, 90_000), (8, 150_000))))),
        ("take", Cost(Law(30_000, 9_000_000))),
        ("out", Cost(Law(5_000))),
        ("log", Cost(Law(8_000))),
    ),
)


def written_as_run(schedule: Schedule, buckets: list[int], path: Path, quiet: int = 0) -> Path:
    """The trace of a run with the true costs; the last rounds of each bucket are only timed."""
    found = simulate(schedule, TRUTH, buckets)
    threads = {-1: ("host", 1)} | {
        number: (one.name, number + 1) for number, one in enumerate(schedule.streams) if number
    }
    names = [
        {"name": "thread_name", "ph": "M", "pid": 1, "tid": t, "args": {"name": n}}
        for n, t in threads.values()
    ]
    noted = [
        buckets[number : number + quiet + 1] == [bucket] * (quiet + 1)
        for number, bucket in enumerate(buckets)
    ]
    events: list[tuple] = [
        (-1, "wait", "wait for out", after.what.round, before.end, after.start, "")
        for before, after in pairwise(span for span in found.spans if span.stream < 0)
        if after.start > before.end
    ]
    rounds: dict[int, tuple[int, int]] = {}
    graphs: dict[tuple[int, str], list[int]] = {}
    for span in found.spans:
        doing = span.what
        stream = found.lanes.places[span.stream][2] if span.stream >= 0 else -1
        if stream == -1:
            at, issued = rounds.get(doing.round, (span.start, span.end))
            rounds[doing.round] = min(at, span.start), max(issued, span.end)
        if span.stream < 0:
            if doing.kind != "phase" or schedule.phases[doing.number].stream != HOST:
                continue
            span = span._replace(start=span.start + TRUTH.host.run)
        if not noted[doing.round] or doing.kind not in ("phase", "load", "replay"):
            continue
        capture = "" if doing.capture is None else schedule.captures[doing.capture].name
        if doing.kind == "replay" or capture:
            graph = graphs.setdefault(
                (doing.round, capture or doing.name), [stream, span.start, span.end]
            )
            graph[1], graph[2] = min(graph[1], span.start), max(graph[2], span.end)
        if doing.kind != "replay":
            kind = doing.kind
            name = doing.name if kind == "phase" else f"load {doing.name}"
            events.append((stream, kind, name, doing.round, span.start, span.end, capture))
    for (round, name), (stream, start, end) in graphs.items():
        events.append((stream, "capture", name, round, start, end, ""))
    text = {
        "traceEvents": names
        + [
            {
                "name": name,
                "cat": kind,
                "ph": "X",
                "pid": 1,
                "tid": threads[stream][1],
                "ts": start / 1000,
                "dur": (end - start) / 1000,
                "args": {"round": round, "spec": "", **({"capture": capture} if capture else {})},
            }
            for stream, kind, name, round, start, end, capture in events
        ],
        "plait": {
            "schedule": json.loads(to_json(schedule)),
            "rounds": [
                {
                    "number": number,
                    "bucket": schedule.buckets[bucket].name,
                    "live": {},
                    "at": rounds[number][0] / 1000,
                    "issued": rounds[number][1] / 1000,
                    "noted": noted[number],
                }
                for number, bucket in enumerate(buckets)
            ],
            "beside": [
                {"bucket": "bs = 8", "phase": "take[1]", "took": 60.0, "held": 30.0}
                for _ in range(5)
            ],
        },
    }
    path.write_text(json.dumps(text))
    return path


@pytest.fixture(scope="module")
def trace(compiled, tmp_path_factory) -> Path:
    buckets = [bucket for bucket in range(4) for _ in range(14)]
    path = tmp_path_factory.mktemp("known") / "run.json"
    return written_as_run(compiled(SPEC), buckets, path)


def test_the_costs_of_phases_come_back(trace: Path) -> None:
    """In a graph and outside, lines and tables, to the nanosecond; on every number of rows that ran."""
    found = fitted(own_samples(trace, from_json), "found").profile
    truth = dict(TRUTH.phases)
    for name, cost in found.phases:
        for rows in (1, 2, 4, 8):
            assert abs(cost.law.time(rows) - truth[name].law.time(rows)) <= 1, (name, rows)
    assert found.phases[-1][1].eager is not None  # `take` was run beside its graph, twice as long
    assert found.phases[-1][1].eager.time(8) == 2 * truth["take"].law.time(8)
    assert (found.stream.load, found.stream.replay) == (3000, 2000)


def test_rounds_that_ran_are_foretold(trace: Path) -> None:
    """Each bucket's round as it was, but for what records and waits do to it."""
    samples = own_samples(trace, from_json)
    found = against(samples, fitted(samples, "found").profile)
    assert [one.name for one in found.rounds] == ["bs = 1", "bs = 2", "bs = 4", "bs = 8"]
    assert all(abs(one.error) < 0.01 for one in (*found.rounds, *found.phases))
    assert found.unknown == ()


def test_a_phase_is_foretold_as_a_simulation_prices_it(compiled, tmp_path: Path) -> None:
    """By what its spec says, or the class of its stream, where a profile has not its name."""
    text = SPEC.replace("stream side", "stream side : copy")
    text = text.replace("updates x }\n  fork", "updates x  cost 20us }\n  fork")
    samples = own_samples(written_as_run(compiled(text), [0], tmp_path / "run.json"), from_json)
    copies, others = Cost(Law(7_000)), Cost(Law(9_000))
    profile = TRUTH.replace(phases=(("*", others),), classes=(("copy", copies),))
    found = {one.name: one.foretold for one in against(samples, profile).phases}
    assert (found["make"], found["look"], found["out"]) == (20_000, 7_000, 9_000)


def test_rounds_of_other_settings_are_foretold(trace: Path, compiled) -> None:
    """With more phases in the graph, none of which was measured by its own name."""
    found = fitted(own_samples(trace, from_json), "found").profile
    longer = compiled(SPEC, settings={"steps": 3})
    for bucket in range(4):
        expected, got = (steady(longer, one, bucket).time for one in (TRUTH, found))
        assert abs(got - expected) <= expected // 100


def test_rows_that_only_captures_met_are_known(compiled, tmp_path: Path) -> None:
    """By what the phase took there when it was captured, next to what it took where it ran."""
    path = written_as_run(compiled(SPEC), [3] * 14, tmp_path / "run.json")
    data = json.loads(path.read_text())
    data["plait"]["beside"].append({"bucket": "bs = 1", "phase": "take[1]", "took": 30, "held": 10})
    path.write_text(json.dumps(data))
    found = dict(fitted(own_samples(path, from_json), "found").profile.phases)["take"]
    at_eight = dict(TRUTH.phases)["take"].law.time(8)
    assert (found.law.time(8), found.law.time(1)) == (at_eight, at_eight // 3)
    assert found.eager is not None
    assert (found.eager.time(8), found.eager.time(1)) == (at_eight * 2, at_eight)


def test_rounds_that_were_only_timed_are_taken_before_others(compiled, tmp_path: Path) -> None:
    """They say what a round takes when nothing is traced, and no phase of them is in the file."""
    buckets = [0] * 24 + [3] * 24
    samples = own_samples(
        written_as_run(compiled(SPEC), buckets, tmp_path / "run.json", quiet=12), from_json
    )
    quiet = [one for one in samples.rounds if not one.noted]
    assert {one.bucket for one in quiet} == {0, 3} and len(quiet) >= 14
    assert len([one for one in samples.phases if one.phase == "make"]) == 24


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "is not JSON"),
        ("[]", "does not say of which schedule it is: take one that `plait run --trace` wrote"),
        ('{"traceEvents": [], "plait": {}}', "plait.schedule"),
        ("[" * 100_000, "is not JSON"),
    ],
)
def test_what_is_no_such_trace_is_refused(tmp_path: Path, text: str, said: str) -> None:
    """With the file, and what would be one."""
    path = tmp_path / "trace.json"
    path.write_text(text)
    with pytest.raises((CalibrateError, ScheduleError)) as caught:
        own_samples(path, from_json)
    assert str(caught.value).startswith(str(path)) and said in str(caught.value)


def _places(value: object, path: tuple = ()) -> Iterator[tuple]:
    """Of a JSON value every place below it."""
    items = enumerate(value) if isinstance(value, list) else ()
    for key, item in value.items() if isinstance(value, dict) else items:
        yield (*path, key)
        yield from _places(item, (*path, key))


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=4,
)


@settings(max_examples=40)
@given(st.data())
def test_whatever_stands_in_a_trace_gives_costs_or_one_clear_error(
    trace: Path, tmp_path_factory, data
) -> None:
    """Any value in any place: what is not refused is a profile that reads back equal."""
    text = json.loads(trace.read_text())
    *path, last = data.draw(st.sampled_from(list(_places(text))))
    place = text
    for key in path:
        place = place[key]
    place[last] = data.draw(values)
    folder = tmp_path_factory.mktemp("any")
    (folder / "run.json").write_text(json.dumps(text))
    try:
        found = fitted(own_samples(folder / "run.json", from_json), "found")
    except (CalibrateError, ScheduleError):
        return
    (folder / "found.toml").write_text(written(found.profile, found.comments))
    assert load_profile(folder / "found.toml") == found.profile


@pytest.mark.parametrize(
    "change",
    [
        lambda data: data["traceEvents"].append({"ph": "X"}),
        lambda data: data["traceEvents"].append("text"),
        lambda data: data["plait"]["rounds"].append({"number": "x"}),
        lambda data: data["plait"]["rounds"][0].update(bucket="bs = 99"),
        lambda data: data["plait"]["rounds"][0].update(at=1e300),
        lambda data: data["plait"]["rounds"][0].update(at="NaN"),
        lambda data: data["plait"].update(beside=7),
        lambda data: data["plait"]["beside"][0].update(held=-1),
        lambda data: data["traceEvents"][-1].update(dur=4e12),
    ],
)
def test_a_trace_with_something_else_in_it_is_refused(trace: Path, tmp_path: Path, change) -> None:
    """In one clear line, whatever stands in the place of what a run writes."""
    data = json.loads(trace.read_text())
    change(data)
    path = tmp_path / "trace.json"
    path.write_text(json.dumps(data))
    with pytest.raises(CalibrateError, match=r"is not as `plait run --trace` writes it"):
        own_samples(path, from_json)
