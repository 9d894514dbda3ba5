"""`examples/README.md`: every example has a row, and every command in it runs."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from pages.console import printed

FOLDER = Path(__file__).parents[2] / "examples"
TEXT = (FOLDER / "README.md").read_text(encoding="utf-8")
ROWS = dict(re.findall(r"^\| \[`([\w./]+)`\]\([^)]*\) \|.*\| `([^`]+)` \|$", TEXT, re.MULTILINE))
"""The command of each example, by its file or folder."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Where commands run: beside the examples, and nothing else."""
    place = tmp_path_factory.mktemp("index")
    (place / "examples").symlink_to(FOLDER)
    threads = torch.get_num_threads()
    yield place
    torch.set_num_threads(threads)
    shutil.rmtree(place)


def test_every_example_has_a_row() -> None:
    """Each schedule and each program, once, and a command that is about it."""
    specs = {path.name for path in FOLDER.glob("*.spec")}
    programs = {f"{path.parent.name}/" for path in FOLDER.glob("*/README.md")}
    assert set(ROWS) == specs | programs
    for name, command in ROWS.items():
        assert f"examples/{name.rstrip('/')}" in command


@pytest.mark.parametrize("name", [name for name in ROWS if name.endswith(".spec")])
def test_its_command_runs(name: str, folder: Path) -> None:
    """It prints something and ends well: with 0, or with the 1 of two that differ."""
    command = ROWS[name]
    lines = printed(command, folder)
    code = "[1]" if command.startswith("plait diff ") else ""
    assert (lines[-1] == code) if code else not re.fullmatch(r"\[\d+\]", lines[-1])
    assert len(lines) > 5
    if command.startswith("plait run "):
        assert lines[-1] == "identical to plain: yes"


def test_the_commands_of_programs_are_those_of_their_pages() -> None:
    """Which `test_service.py` and `test_adaptor.py` run."""
    for name, command in ROWS.items():
        if name.endswith("/"):
            page = (FOLDER / name / "README.md").read_text(encoding="utf-8")
            assert command in page
