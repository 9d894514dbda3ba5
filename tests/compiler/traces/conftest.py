"""What tests of readers start from: a text that is read as a file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from plait.compiler.traces.model import Trace
from plait.compiler.traces.read import read_trace


@pytest.fixture
def read(tmp_path: Path) -> Callable[[str], Trace]:
    """Reads a text as a file."""

    def read_text(text: str) -> Trace:
        path = tmp_path / "trace"
        path.write_text(text, newline="")
        return read_trace(str(path))

    return read_text
