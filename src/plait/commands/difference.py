"""The difference between two texts of a file, on stdout."""

from __future__ import annotations

import difflib
import re
import sys


def show_difference(path: str, before: str, after: str) -> None:
    """Writes it as `patch` takes it; on a terminal, with nothing that could steer it."""
    from plait.dsl.render.printable import printable

    def lines(text: str) -> list[str]:
        return re.findall(r"[^\n]*\n|[^\n]+", text)

    name = printable(path)
    for line in difflib.unified_diff(lines(before), lines(after), name, name):
        if sys.stdout.isatty():
            line = printable(line.rstrip("\r\n")) + "\n"
        sys.stdout.write(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n")
