"""The run itself: a skip that is not on the written list fails it."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SKIPPING = """\
import pytest

@pytest.mark.skip(reason="too slow today")
def test_one(): pass
"""


@pytest.mark.parametrize("workers", ["0", "2"])
@pytest.mark.parametrize(
    ("listed", "code"),
    [("", 1), ("test_it.py::test_one: too slow today", 0), ("test_it.py: too slow today", 0)],
)
def test_a_skip_needs_a_line_in_the_list(
    listed: str, code: int, workers: str, root: Path, tmp_path: Path
) -> None:
    """The same skip fails a run that does not list it, and is named; listed, it or its file, it passes."""
    shutil.copy(root / "conftest.py", tmp_path)
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "skips.txt").write_text(listed)
    (tmp_path / "test_it.py").write_text(SKIPPING)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", workers]
    found = subprocess.run(
        [*command, "test_it.py"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert found.returncode == code, found.stdout + found.stderr
    named = "not in skips.txt: test_it.py::test_one: too slow today" in found.stdout
    assert named is (code == 1)
