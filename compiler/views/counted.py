"""How many of something there are, in words."""

from __future__ import annotations


def counted(count: int, kind: str) -> str:
    return f"{count} {kind}{'s' * (count != 1)}"
