"""One thread, as bodies have on a stream."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def alone(one_thread: None) -> None:
    """Every test here."""
