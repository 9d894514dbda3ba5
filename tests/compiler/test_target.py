"""Targets: what comes with Plait loads, users build on it, and a wrong file is one clear line."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from plait.compiler.target import TABLES, Heading, TargetError, known_targets, load_target

MINIMAL = """\
name = "mine"
title = "mine"
device = "cpu"
[streams]
pool = 2
[events]
shared_record = true
into_capture = false
shared_into_capture = false
[graphs]
side_streams = false
default_stream = true
task_update = false
"""


def test_every_target_that_comes_with_plait_loads() -> None:
    """By name, each under its own."""
    assert known_targets() == ["ascend910c", "cpu", "cuda"]
    assert [load_target(name).name for name in known_targets()] == known_targets()


def test_ascend_is_as_its_sources_say() -> None:
    """The facts that schedules turn on: hollow hooks, one record a wait into a graph, 32 streams."""
    target = load_target("ascend910c")
    assert (target.streams.pool, target.streams.budget, target.graphs.reserve) == (32, 1984, 248)
    assert target.exchange and not target.exchange.hooks and not target.exchange.events
    assert target.events.into_capture and not target.events.shared_into_capture
    assert target.graphs.task_update and not target.graphs.default_stream


def test_a_file_builds_on_another(tmp_path: Path) -> None:
    """Its keys stand above, one by one; its flags and runtimes are added; the digest covers all files."""
    (tmp_path / "base.toml").write_text(
        'name = "base"\nextends = "ascend910c"\n[graphs]\ntasks = 7\n'
    )
    mine = tmp_path / "mine.toml"
    mine.write_text(
        'name = "mine"\nextends = "base.toml"\n[streams]\npool = 8\n'
        '[[flags]]\nname = "OURS"\nkind = "whole"\nread_by = ["ours"]\n'
    )
    target = load_target(str(mine))
    assert (target.name, target.title, target.device) == ("mine", "Ascend 910C, torch_npu", "npu")
    assert (target.streams.pool, target.streams.budget, target.graphs.tasks) == (8, 1984, 7)
    assert any(registry.reads("OURS", "npu") for registry in target.registries)
    assert any(registry.claims("SGLANG_X") for registry in target.registries)
    (tmp_path / "base.toml").write_text(
        'name = "base"\nextends = "ascend910c"\n[graphs]\ntasks = 8\n'
    )
    assert load_target(str(mine)).sha256 != target.sha256


WRONG = {
    "not TOML": ("name =", "is not TOML"),
    "an unknown key": (
        MINIMAL.replace("pool", "pol"),
        "`streams.pol` is not read; did you mean `pool`?",
    ),
    "an unknown table": (MINIMAL + "[graph]\n", "`graph` is not read; did you mean `graphs`?"),
    "a number as a text": (
        MINIMAL.replace("pool = 2", 'pool = "2"'),
        "`streams.pool` should be a whole number, not '2'",
    ),
    "a number as a truth": (
        MINIMAL.replace("shared_record = true", "shared_record = 1"),
        "`events.shared_record` should be true or false, not 1",
    ),
    "a number below zero": (
        MINIMAL.replace("pool = 2", "pool = -1"),
        "`streams.pool` should be from 0 to 4,294,967,296, not -1",
    ),
    "no stream": (MINIMAL.replace("pool = 2", "pool = 0"), "`streams.pool` is 1 or more"),
    "a table as a number": (
        'name = "x"\ntitle = "x"\nstreams = 64\n',
        "`streams` is a table; write its keys below `[streams]`",
    ),
    "a key that is missing": (
        MINIMAL.replace("pool = 2\n", ""),
        "there should be a line `pool = ...` below `[streams]` with a whole number",
    ),
    "no name": ('extends = "cpu"\n', "there should be a line `name = ...` with a text"),
    "another device": (MINIMAL.replace('"cpu"', '"tpu"'), "`device` is one of cpu, cuda, npu"),
    "a base that is not there": (
        'name = "x"\nextends = "ascend910"\n',
        "extends `ascend910`, which is no target: did you mean `ascend910c`?",
    ),
    "itself": ('name = "x"\nextends = "x.toml"\n', "extends itself"),
    "a runtime that is not there": (
        'runtimes = ["sglag"]\n' + MINIMAL,
        "there is no runtime `sglag`: did you mean `sglang`?",
    ),
    "a flag without its reader": (
        MINIMAL + '[[flags]]\nname = "A"\nkind = "whole"\n',
        "there should be a line `read_by = ...` below `[flags]` with a list of texts",
    ),
    "a flag of no kind": (
        MINIMAL + '[[flags]]\nname = "A"\nkind = "int"\nread_by = []\n',
        "`flags.kind` is one of fraction, text, truth, whole, not 'int'",
    ),
    "flags that are no list": (MINIMAL + "[flags]\n", "write each flag below `[[flags]]`"),
    "runtimes that are no list": (
        "runtimes = 3\n" + MINIMAL,
        "`runtimes` should be a list of texts, not 3",
    ),
    "far too large": ("#" * (1 << 20) + "\n", "has more than 1,048,576 bytes"),
    "nested without end": ("a = " + "[" * 100_000, "is not TOML"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_file_is_one_clear_line(name: str, tmp_path: Path) -> None:
    """The file, the key, and what was expected."""
    text, message = WRONG[name]
    path = tmp_path / "x.toml"
    path.write_text(text)
    with pytest.raises(TargetError) as raised:
        load_target(str(path))
    assert "x.toml: " in str(raised.value) and message in str(raised.value)
    assert "\n" not in str(raised.value)


def test_the_page_lists_every_key(root: Path) -> None:
    """`docs/targets.md` has all that a target may say, and nothing else."""
    text = (root / "docs" / "targets.md").read_text(encoding="utf-8")
    keys = {f"{table}.{name}" for table, record in TABLES.items() for name in record.fields()}
    assert set(re.findall(r"^\| `([a-z]+\.[a-z_]+)` \|", text, re.MULTILINE)) == keys
    assert all(f"`{name}`" in text for name in Heading.fields())
