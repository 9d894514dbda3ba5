"""A schedule's JSON is checked when it is read: every name, number and size."""

from __future__ import annotations

import copy
import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plait.runtime.program import program_text
from plait.runtime.schedule_check import ScheduleError
from plait.runtime.schedule_json import digests_of, to_json
from plait.runtime.schedule_reader import from_json


@pytest.fixture(scope="module")
def data(eagle, compiled) -> dict[str, Any]:
    return json.loads(to_json(compiled(eagle)))


def changed(data: dict[str, Any], path: str, value: Any) -> str:
    """The text with the value at a path replaced, digests made right again."""
    data = copy.deepcopy(data)
    *steps, last = [int(step) if step.isdigit() else step for step in path.split(".")]
    at: Any = data
    for step in steps:
        at = at[step]
    at[last] = value
    if isinstance(data.get("settings"), list) and isinstance(data.get("digests"), dict):
        with suppress(TypeError, LookupError):  # of a hostile source or target there are none
            data["digests"] = digests_of(data)
    return json.dumps(data)


HOSTILE = "x); import os; os.system('true')  #"

FAULTS = [
    ("format", "other", 'is not a schedule: it has no "format": "plait schedule"'),
    ("version", 1, "version: is 1; this Plait reads version 4"),
    ("name", HOSTILE, "name: should be a name of letters, digits and _"),
    ("buffers.0.name", HOSTILE, "buffers[0].name: should be a name of letters, digits and _"),
    ("buffers.0.dtype", "i65", "buffers[0].dtype: should be one of"),
    ("buffers.0.copies", 0, "buffers[0].copies: should be a whole number from 1 to 64, not 0"),
    ("buffers.0.carried", 1, "buffers[0].carried: should be true or false, not 1"),
    ("streams.1.0", "plan", "streams[2]: has the name of streams[1]"),
    ("phases.0.arguments.0.0", "a\nb", "phases[0].arguments[0][0]: should be a name"),
    ("phases.0.arguments.0.1", 99, "phases[0].arguments[0]: is 99, but there are 14 buffers"),
    ("phases.0.arguments.1.0", "candidate", "phases[0].arguments[1]: repeats candidate"),
    ("phases.0.stream", 9, "phases[0].stream: is 9, but there are 4 streams"),
    ("phases.1.index", 7, "phases[1]: is named nextn[1], but its index is 7"),
    ("phases.0.capture", 1, "phases[0].capture: does not list this phase"),
    ("captures.0.stream", 0, "captures[0]: needs a device stream and at least one phase"),
    ("captures.0.phases", [3], "phases[0].capture: does not list this phase"),
    ("captures.0.phases", [0, 1, 3], "captures[0].phases: lists phase 3, which is not in it"),
    ("streams.0.0", "main", "streams: should begin with the host"),
    ("programs.0.0.0", "jump", "programs[0][0][0]: should be one of"),
    ("programs.0.0.1", 7, "programs[0][0]: is 7, but there are 3 captures"),
    ("programs.0.3.1", 4, "programs[0][4]: waits for an event that is recorded only later"),
    ("programs.0.2.2", 2, "programs[0][2]: runs build_tree where it does not belong"),
    ("programs.0.1.1", 2, "programs[0][1]: replays extend with inputs it had not loaded"),
    ("programs.0.21.3", 5, "programs[0][21]: waits for an older record than is kept"),
    ("buckets.0.program", 1, "buckets[0].program: is 1, but there are 1 programs"),
    ("buckets.0.shapes", [], "buckets[0].shapes: has 0 entries for 14 buffers"),
    ("buckets.0.shapes.0", [0], "buckets[0].shapes[0][0]: should be a whole number from 1"),
    ("buckets.0.shapes.0", [1 << 40, 1 << 40], "buckets[0].shapes[0]: should be at most"),
    ("buckets.0.shapes.0", None, "buckets[0].shapes: seq_lens is i64"),
    ("buckets.0.regions.0.1", [None, 5], "draft_tokens of first lies outside its buffer"),
    ("buckets.0.rows.0", 0, "buckets[0].rows: has no rows for draft"),
    ("buckets", [], "buckets: should have at least one entry"),
    ("arena", -1, "arena: should be a whole number from 0"),
    ("arena", 1 << 40, "arena: is larger than all that lies in it"),
    ("buffers.0.offset", 0, "buffers[0].offset: is given, but seq_lens cannot share memory"),
    ("buffers.6.offset", 1, "buffers[6].offset: is 1, which is not a multiple of 512"),
    ("buffers.6.offset", 98304, "buffers[6].offset: is 98304: draft_tokens ends behind the arena"),
    (
        "buffers.7.offset",
        0,
        "buckets[0]: use draft_tokens and tree side by side, which share memory",
    ),
    ("phases.0", {"name": "first"}, "phases[0]: should be an object with name, body"),
    (
        "settings.0",
        ["num_steps", {}],
        "settings[0][1]: should be a number, a text of one line, true, false",
    ),
]


@pytest.mark.parametrize(
    ("path", "value", "message"), FAULTS, ids=[f"{p}={v!r:.20}" for p, v, _ in FAULTS]
)
def test_a_fault_is_named_where_it_is(path: str, value: Any, message: str, data) -> None:
    """One line: where in the file, what should stand there, what to do."""
    with pytest.raises(ScheduleError) as caught:
        from_json(changed(data, path, value), "eagle.json")
    line = str(caught.value)
    assert message in line and line.startswith("eagle.json") and "\n" not in line
    assert line.endswith("; compile the spec again")


def test_what_was_changed_by_hand_is_noticed(data) -> None:
    """Settings that are not those the digest is of mean that the file was changed."""
    other = copy.deepcopy(data)
    other["settings"][0][1] = 5
    with pytest.raises(ScheduleError, match="digests.settings: is not the digest of what"):
        from_json(json.dumps(other))


@pytest.mark.parametrize(
    "text", ["", "{", "[1]", "null", "NaN", "[" * 100_000, '{"format": NaN}', "\0"]
)
def test_what_is_no_schedule_is_refused_in_one_line(text: str) -> None:
    """Torn files, other JSON and deep nesting end in the same kind of error."""
    with pytest.raises(ScheduleError):
        from_json(text)


junk = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=6,
)


def test_random_changes_are_refused_or_harmless(data) -> None:
    """Junk anywhere gives ScheduleError, or a schedule whose program is still valid Python."""

    def paths(value: Any, path: str = "") -> list[str]:
        if isinstance(value, dict):
            inner = value.items()
        elif isinstance(value, list):
            inner = enumerate(value)
        else:
            return [path]
        return [path] * bool(path) + [
            p for k, v in inner for p in paths(v, f"{path}.{k}" if path else f"{k}")
        ]

    places = paths(data)

    @given(st.sampled_from(places), junk)
    def change(path: str, value: Any) -> None:
        try:
            schedule = from_json(changed(data, path, value))
        except ScheduleError:
            return
        compile(program_text(schedule), "program", "exec")

    change()
