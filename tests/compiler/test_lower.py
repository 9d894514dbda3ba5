"""Rounds to schedules: what is in one, and that it is the same every time."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from plait.runtime.schedule import HOST
from plait.runtime.schedule_json import to_json
from plait.runtime.schedule_reader import from_json


def ops(schedule, bucket: int = -1) -> list[tuple]:
    names = {"run": schedule.phases, "load": schedule.captures, "replay": schedule.captures}
    return [
        (one.op, names.get(one.op, schedule.events)[one.of].name, schedule.streams[one.on].name)
        for one in schedule.program_of(schedule.buckets[bucket])
    ]


def test_the_canonical_round_as_instructions(eagle, compiled) -> None:
    """The whole program, in issue order: records right after their source, waits right before."""
    assert ops(compiled(eagle)) == [
        ("load", "draft", "main"),
        ("replay", "draft", "main"),
        ("run", "build_tree", "main"),
        ("record", "build_tree", "main"),
        ("wait", "build_tree", "plan"),
        ("run", "plan_verify", "plan"),
        ("record", "plan_verify", "plan"),
        ("wait", "plan_verify", "main"),
        ("load", "verify", "main"),
        ("replay", "verify", "main"),
        ("run", "accept", "main"),
        ("record", "accept", "main"),
        ("wait", "accept", "plan"),
        ("run", "plan_extend", "plan"),
        ("record", "plan_extend", "plan"),
        ("wait", "plan_extend", "main"),
        ("load", "extend", "main"),
        ("replay", "extend", "main"),
        ("wait", "accept", "copy"),
        ("run", "publish", "copy"),
        ("record", "publish", "copy"),
        ("block", "publish", "host"),
        ("run", "commit", "host"),
    ]


def test_the_draft_graph_holds_one_forward_less_than_it_has_stages(eagle, compiled) -> None:
    """S stages, S - 1 NextN forwards; at S = 1 there is no draft graph."""
    for steps in (1, 2, 3, 4):
        schedule = compiled(eagle, settings={"num_steps": steps})
        graphs = {c.name: [schedule.phases[p].body for p in c.phases] for c in schedule.captures}
        assert graphs.get("draft", []).count("nextn") == steps - 1
        assert ("draft" in graphs) == (steps > 1)


def test_rows_are_bucket_times_width(eagle, compiled) -> None:
    """Draft replays K rows a request, verify and extend D."""
    schedule = compiled(eagle, settings={"num_steps": 3})
    for bucket in schedule.buckets:
        size = dict(bucket.sizes)["bs"]
        assert bucket.rows == (size, size * 4, size * 4)


def test_a_wait_on_the_round_before_needs_two_records(eagle, compiled) -> None:
    """An event is told apart over as many rounds as its furthest wait looks back."""
    depths = {event.name: event.depth for event in compiled(eagle).events}
    assert depths == {
        "build_tree": 1,
        "plan_verify": 1,
        "accept": 1,
        "plan_extend": 1,
        "publish": 2,
    }


def test_a_load_is_reached_between_copies_and_graph(compiled) -> None:
    """`g.loaded` is recorded after the inputs are copied in and before the graph runs."""
    schedule = compiled(
        "pipeline p {\n stream a\n stream b\n buffer x : i64[4] carried\n buffer y : i64[4]\n"
        " capture g on a rows 4 { phase take on a { reads x  writes y } }\n"
        " fork b from g.loaded\n phase next on b { writes x }\n join b into a\n}"
    )
    assert [op for op, *_ in ops(schedule)][:3] == ["wait", "load", "record"]
    assert ops(schedule)[2][1] == "g.loaded"


def test_places_lead_back_to_the_text(eagle, compiled) -> None:
    """Every instruction but a record says the line it came from."""
    schedule = compiled(eagle)
    lines = eagle.text.splitlines()
    for one in schedule.program_of(schedule.buckets[0]):
        if one.place is not None:
            line = lines[one.place.line - 1]
            word = {"run": "phase", "wait": "", "block": "join"}.get(one.op, "capture")
            assert word in line
    block = next(one for one in schedule.program_of(schedule.buckets[0]) if one.on == HOST)
    assert block.place is not None and "join prev publish" in lines[block.place.line - 1]


def test_the_same_bytes_whatever_hash_seed_and_folder(root: Path, tmp_path: Path) -> None:
    """Two processes with other hash seeds, in other folders, write the same schedule."""
    spec = (root / "examples" / "eagle.spec").read_text(encoding="utf-8")
    written = []
    for seed in ("1", "2"):
        folder = tmp_path / f"folder {seed}"
        folder.mkdir()
        (folder / "eagle.spec").write_text(spec, encoding="utf-8")
        command = [sys.executable, "-m", "plait", "compile", "eagle.spec", "-o", "out.json"]
        environment = {"PYTHONHASHSEED": seed, "PATH": "", "HOME": str(folder)}
        subprocess.run(command, cwd=folder, env=environment, check=True, timeout=60)
        written.append((folder / "out.json").read_bytes())
    assert written[0] == written[1]
    assert str(tmp_path).encode() not in written[0]


def test_json_reads_back_as_what_was_written(eagle, compiled) -> None:
    """Every variant survives its JSON form, and writing again gives the same text."""
    for variant in (None, "serial", "deep"):
        schedule = compiled(eagle, variant=variant)
        text = to_json(schedule)
        assert from_json(text) == schedule
        assert to_json(from_json(text)) == text


def test_digests_tell_what_changed(eagle, compiled) -> None:
    """Another setting changes its digest and no other; another environment likewise."""
    import json

    def digests(**asked) -> dict:
        return json.loads(to_json(compiled(eagle, **asked)))["digests"]

    base = digests(environment={})
    other = digests(environment={}, settings={"num_steps": 3})
    third = digests(environment={"SGLANG_ENABLE_OVERLAP_PLAN_STREAM": "1"})
    assert {key for key in base if base[key] != other[key]} == {"settings"}
    assert {key for key in base if base[key] != third[key]} == {"environment"}


def test_phases_of_a_capture_that_is_no_graph_have_its_rows(compiled) -> None:
    """What a phase works on does not change with how it is launched."""
    text = (
        "pipeline p {\n dim bs in [2]\n stream main\n buffer x : i64[bs] carried\n"
        " buffer y : i64[bs * 3] carried\n"
        " capture g on main rows bs * 3 { phase a on main { updates x, y } }\n"
        " phase b on main { updates x }\n}"
    )
    found = [compiled(text, capture=capture).buckets[0].work for capture in (True, False)]
    assert found[0] == found[1] == ((6, None), (2, None))
