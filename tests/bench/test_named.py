"""Every figure has a command: those that the documents name are there, and all that are there are named."""

from __future__ import annotations

import re
from pathlib import Path

from benchmarks.__main__ import NAMES

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]


def test_benchmarks_that_documents_name_are_there() -> None:
    """By `python -m benchmarks NAME`, or as a module of their own."""
    text = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
    named = set(re.findall(r"python -m benchmarks ([a-z_]+)", text))
    assert named >= {"calibrate", "engine", "exposed", "marks"} and named <= set(NAMES)
    for module in set(re.findall(r"python -m benchmarks\.([a-z_]+)", text)):
        assert (ROOT / "benchmarks" / f"{module}.py").is_file()


def test_the_page_has_all_of_them() -> None:
    """The first column of its last table is the list."""
    page = (ROOT / "docs" / "bench.md").read_text(encoding="utf-8")
    *_, table = page.split("| benchmark |")
    rows = [row.split("|")[1] for row in table.splitlines() if row.startswith("| `")]
    assert {name for row in rows for name in re.findall(r"`([a-z_]+)`", row)} == {
        *NAMES,
        "cuda_check",
    }
