"""What code of others has raised, as it can be told."""

from __future__ import annotations


def words(error: BaseException) -> str:
    """Its text, or its name where it has none, as a bare `assert`."""
    return str(error) or type(error).__name__


def tellable(error: BaseException) -> BaseException:
    """What a future takes, which is anything but StopIteration."""
    if isinstance(error, StopIteration):
        found = RuntimeError(f"StopIteration: {error}")
        found.__cause__ = error
        return found
    return error
