"""`docs/timeline.md`: each command prints what the page shows."""

from __future__ import annotations

from pathlib import Path

import pytest

from pages.console import agrees, brought_up_to_date, commands, printed, with_shown

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "timeline.md"
COUNT = len(commands(PAGE.read_text(encoding="utf-8")))


@pytest.mark.parametrize("number", range(COUNT))
def test_a_command_prints_what_the_page_shows(number: int, request: pytest.FixtureRequest) -> None:
    """Line by line, `...` standing for any; `--update-golden` writes the page as it is now."""
    text = PAGE.read_text(encoding="utf-8")
    shown = commands(text)[number]
    lines = printed(shown.command, ROOT)
    if request.config.getoption("--update-golden") and not agrees(shown.lines, lines):
        text = with_shown(text, shown, brought_up_to_date(shown.lines, lines))
        PAGE.write_text(text, encoding="utf-8")
        shown = commands(text)[number]
    if not agrees(shown.lines, lines):
        assert "\n".join(lines) == "\n".join(shown.lines), shown.command
