"""One thread computes here, as on every stream."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def alone(one_thread: None) -> None:
    """Every test here."""
