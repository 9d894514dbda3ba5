"""The program in docs/exchange.md runs, and what it asserts holds."""

from __future__ import annotations

import re
from pathlib import Path


def test_the_program_of_the_page(root: Path) -> None:
    """As it stands there."""
    text = (root / "docs" / "exchange.md").read_text(encoding="utf-8")
    (program,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    exec(compile(program, "docs/exchange.md", "exec"), {})
