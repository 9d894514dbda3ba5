"""What a page shows below its commands, held against what they print."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from pages.console import Shown, agrees, brought_up_to_date, commands, with_shown


def hold(
    page: Path,
    number: int,
    lines: list[str],
    update: bool | None,
    read: Callable[[str], Sequence[Shown]] = commands,
) -> None:
    """Lines that the command of that number has printed; to update writes the page as it is now."""
    text = page.read_text(encoding="utf-8")
    shown = read(text)[number]
    if update and not agrees(shown.lines, lines):
        text = with_shown(text, shown, brought_up_to_date(shown.lines, lines))
        page.write_text(text, encoding="utf-8")
        shown = read(text)[number]
    if not agrees(shown.lines, lines):
        assert "\n".join(lines) == "\n".join(shown.lines), shown.command
