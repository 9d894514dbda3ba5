"""`docs/the-round.md`: each command prints what the page shows, and each row of the round has one."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from pages.console import commands, printed
from pages.held import hold

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "the-round.md"
SHOWN = commands(PAGE.read_text(encoding="utf-8"))
ROWS = [f"R{number}" for number in range(1, 21)]


def rows_of(section: str) -> list[str]:
    """The rows that a heading is about: `R13, R14: ...`."""
    return re.findall(r"R\d+", section.partition(":")[0])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Where commands run, one after another as in the page: the examples, and the page's programs."""
    place = tmp_path_factory.mktemp("round")
    (place / "examples").symlink_to(ROOT / "examples")
    text = PAGE.read_text(encoding="utf-8")
    for name, program in re.findall(r"`(\w+\.py)`:\n\n```python\n(.*?)```", text, re.DOTALL):
        (place / name).write_text(program, encoding="utf-8")
    threads = torch.get_num_threads()
    yield place
    torch.set_num_threads(threads)
    shutil.rmtree(place)


@pytest.mark.parametrize("row", ROWS)
def test_the_commands_of_a_row_print_what_the_page_shows(
    row: str, folder: Path, request: pytest.FixtureRequest
) -> None:
    """Line by line, `...` standing for any; `--update-golden` writes the page as it is now."""
    for number, shown in enumerate(SHOWN):
        if row in rows_of(shown.section):
            lines = printed(shown.command, folder)
            hold(PAGE, number, lines, request.config.getoption("--update-golden"))


def test_every_row_of_the_round_is_shown() -> None:
    """Twenty of them, in their order, each by a command below its heading."""
    sections = re.findall(r"^## (.*)$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert [row for section in sections for row in rows_of(section)] == ROWS
    with_command = {row for one in SHOWN for row in rows_of(one.section)}
    assert with_command == set(ROWS)
