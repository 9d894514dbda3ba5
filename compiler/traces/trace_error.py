"""Why a file cannot be read as a trace."""

from __future__ import annotations


class TraceError(Exception):
    """One clear line: the file, the place in it, what was expected and how to mend it."""
