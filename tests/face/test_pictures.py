"""The drawings of README.md and docs/: each is what its command makes today, and stands on a page."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from plait.cli import main

ROOT = Path(__file__).parents[2]
COMMANDS = {
    Path(words[-1]).name: words
    for line in (ROOT / "docs" / "pictures" / "commands.txt").read_text().splitlines()
    if (words := shlex.split(line))
}


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_a_drawing_is_what_its_command_makes(
    name: str, tmp_path: Path, monkeypatch, capsys
) -> None:
    """To the byte; `make pictures` draws them all anew."""
    monkeypatch.chdir(ROOT)
    verb, *arguments, kind, path = COMMANDS[name]
    assert (verb, kind, path) == ("plait", "--svg", f"docs/pictures/{name}")
    assert main((*arguments, kind, str(tmp_path / name))) == 0
    assert (tmp_path / name).read_bytes() == (ROOT / path).read_bytes()


def test_every_drawing_has_a_command_and_a_page() -> None:
    """And no page shows one that is not there."""
    drawn = {path.name for path in (ROOT / "docs" / "pictures").glob("*.svg")}
    pages = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
    text = "\n".join(page.read_text(encoding="utf-8") for page in pages)
    assert drawn == set(COMMANDS) == {name for name in drawn if f"pictures/{name})" in text}
    assert text.count("pictures/") - text.count("make pictures") >= len(drawn)
