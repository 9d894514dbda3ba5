"""`docs/engine.md`, run as it says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest


def test_the_examples_of_the_page_run(root: Path, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    """Every assertion in its programs holds, one after the other, in the folder of examples."""
    text = (root / "docs" / "engine.md").read_text(encoding="utf-8")
    programs = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert len(programs) == 2
    monkeypatch.chdir(root / "examples")
    exec(compile("\n".join(programs), "docs/engine.md", "exec"), {})
    assert capsys.readouterr().out
