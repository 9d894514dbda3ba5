"""`docs/timeline.md`: each command prints what the page shows."""

from __future__ import annotations

from pathlib import Path

import pytest

from pages.console import commands, printed
from pages.held import hold

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "timeline.md"
COUNT = len(commands(PAGE.read_text(encoding="utf-8")))


@pytest.mark.parametrize("number", range(COUNT))
def test_a_command_prints_what_the_page_shows(number: int, request: pytest.FixtureRequest) -> None:
    """Line by line, `...` standing for any; `--update-golden` writes the page as it is now."""
    shown = commands(PAGE.read_text(encoding="utf-8"))[number]
    hold(PAGE, number, printed(shown.command, ROOT), request.config.getoption("--update-golden"))
