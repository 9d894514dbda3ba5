"""`plait bench` measures, and says what it cannot."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from plait.cli import main


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """One request, and one number of drafted tokens."""
    monkeypatch.setattr("plait.commands.bench.SIZES", (1,))
    monkeypatch.setattr("plait.commands.bench.STEPS", (2,))


def test_every_part_has_its_figures(small: None, tmp_path: Path, capsys) -> None:
    """A line each, and the same in the file, which is written whole when all are there."""
    path = tmp_path / "here.json"
    assert main(["bench", "--turns", "2", "--write", str(path)]) == 0
    heading, _, lines = capsys.readouterr().out.partition("\n\n")
    found = json.loads(path.read_text())
    assert heading.startswith("tiny in f32 by eagle.spec on cpu, ")
    assert [line.split("  ")[0] for line in lines.splitlines()] == [
        one["name"] for one in found["figures"]
    ]
    assert [(one["part"], one["name"].partition(",")[0]) for one in found["figures"]] == [
        ("speculation", "tokens/s speculative / plain"),
        ("replay", f"eager / {_tier(found)} replay"),
        ("replay", f"eager / {_tier(found)} replay"),
        ("replay", f"eager / {_tier(found)} replay"),
        ("overhead", "scheduled round / hand-written loop"),
        ("noting", "round noted / not noted"),
    ]
    assert all(one["ratio"] > 0 and one["turns"] == 2 for one in found["figures"])


def _tier(found: dict) -> str:
    return found["replay"].partition(":")[0]


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["sleep"], 2, "there is no part `sleep` to measure: name any of speculation, replay, "),
        (["--turns", "1"], 2, "--turns 1: ask for at least 2, so that there are quartiles"),
        (["--write", "/no/such/folder/x.json"], 2, "there is no folder to write it in"),
        (["--device", "abacus"], 3, "there is no device `abacus`"),
        (["--device", "adversary"], 2, "--device adversary: what is measured here is decoded on"),
    ],
)
def test_what_cannot_be_measured_is_refused(
    arguments: list[str], code: int, said: str, capsys
) -> None:
    """Before anything is."""
    assert main(["bench", *arguments]) == code
    told = capsys.readouterr()
    assert told.out == "" and said in told.err
