"""Text of a spec, made fit for a line that people or programs read."""

from __future__ import annotations


def printable(text: str) -> str:
    """Text that cannot steer a terminal: control characters stand as `?`, a tab as one space.

    >>> printable("a\\tb\\x1b[31m")
    'a b?[31m'
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else " " if c == "\t" else "?" for c in text)
