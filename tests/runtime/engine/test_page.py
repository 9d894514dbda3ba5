"""`docs/engine.md`, run as it says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from serving.ranks import ranks

RANKS = "from_environment"
"""Is in the program that several ranks run."""


def programs_of(root: Path) -> list[str]:
    text = (root / "docs" / "engine.md").read_text(encoding="utf-8")
    return re.findall(r"```python\n(.*?)```", text, re.DOTALL)


def test_the_examples_of_the_page_run(root: Path, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    """Every assertion in its programs holds, one after the other, in the folder of examples."""
    programs = [one for one in programs_of(root) if RANKS not in one]
    assert len(programs) == 2
    monkeypatch.chdir(root / "examples")
    exec(compile("\n".join(programs), "docs/engine.md", "exec"), {})
    assert capsys.readouterr().out


def test_the_example_for_ranks_runs(root: Path, tmp_path: Path) -> None:
    """On two of them; the first says what it was given, and both end in peace."""
    (program,) = [one for one in programs_of(root) if RANKS in one]
    path = tmp_path / "program.py"
    path.write_text(program, encoding="utf-8")
    with ranks(tmp_path / "ranks", [], [], program=[str(path)], at=root / "examples") as found:
        assert found.ends() == [0, 0], found.said(0) + found.said(1)
        said = [out.read_text() for out in found.out]
    for text in ("def main(", "import ", "class Stack:"):
        assert f"\n{text}" in f"\n{said[0]}"
    assert said[1] == ""
