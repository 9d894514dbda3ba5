"""Files that a page shows: fenced blocks that have a name behind the language, as in ```spec a.spec."""

from __future__ import annotations

import re
from pathlib import Path

FENCE = re.compile(r"^```\w+ ([\w.]+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def write_files(text: str, folder: Path) -> list[str]:
    """Writes those of a page into a folder; their names, in its order."""
    found = FENCE.findall(text)
    for name, body in found:
        (folder / name).write_text(body, encoding="utf-8")
    return [name for name, _ in found]
