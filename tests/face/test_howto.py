"""The how-tos: each command prints what the page shows, beside the files that the page shows."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest

from pages.console import commands, printed
from pages.files import write_files
from pages.held import hold
from plait.compiler.target import load_target
from plait.runtime.bind import asked_for
from plait.runtime.devices.accelerator import here
from plait.runtime.marks import VARIABLE
from plait.runtime.ranks.group import WATCHDOG

PAGES = ("ascend", "targets")


@pytest.mark.parametrize("name", PAGES)
def test_the_commands_print_what_the_page_shows(
    name: str, root: Path, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """Line by line, `...` standing for any; `--update-golden` writes the page as it is now."""
    page = root / "docs" / f"{name}.md"
    text = page.read_text(encoding="utf-8")
    assert write_files(text, tmp_path)
    for number, shown in enumerate(commands(text)):
        lines = printed(shown.command, tmp_path)
        hold(page, number, lines, request.config.getoption("--update-golden"))


@pytest.fixture
def ascend(root: Path) -> str:
    return (root / "docs" / "ascend.md").read_text(encoding="utf-8")


def rows(text: str, head: str) -> list[list[str]]:
    """The cells of the table whose first row begins so."""
    _, found, below = text.partition(f"| {head} |")
    assert found
    return [
        [cell.strip() for cell in line.strip("|").split(" | ")]
        for line in below.split("\n\n")[0].splitlines()[2:]
    ]


def test_what_doctor_says_of_an_npu_is_in_the_page(ascend: str) -> None:
    """Each reason in the page is one that is given, in those words."""
    given = inspect.getsource(here).replace("{kind.package}", "torch_npu")
    reasons = [re.sub("`", "", said) for said, _ in rows(ascend, "it says")]
    assert len(reasons) == 4 and [one for one in reasons if one not in given] == []


def test_every_variable_is_read_by_whom_the_page_says(ascend: str) -> None:
    """Those of torch_npu are the ones that the target lists, and Plait's are the ones that are read here."""
    table = {name.strip("`"): reader for name, reader, _ in rows(ascend, "variable")}
    (listed,) = [one for one in load_target("ascend910c").registries if one.name == "torch_npu"]
    of_npu = {name for name, reader in table.items() if reader.startswith(("torch_npu", "HCCL"))}
    assert of_npu == set(listed.flags)
    ours = {name for name, reader in table.items() if reader == "Plait"}
    assert ours == {VARIABLE, WATCHDOG, "PLAIT_CHECK"}
    assert "PLAIT_CHECK" in inspect.getsource(asked_for)


def test_the_budget_in_the_page_is_that_of_the_target(ascend: str) -> None:
    """Every number of the paragraph and of the table stands in the target's file."""
    target = load_target("ascend910c")
    streams, graphs = target.streams, target.graphs
    section = ascend.split("## What a schedule may capture")[1].split("## Profile")[0]
    prose = re.sub("```.*?```|^    .*?$", "", section, flags=re.DOTALL | re.MULTILINE)
    known = (streams.pool, streams.budget, streams.taken, graphs.reserve, graphs.tasks)
    assert [one for one in known if not re.search(rf"(?<![\d,]){one:,}(?!,?\d)", prose)] == []
