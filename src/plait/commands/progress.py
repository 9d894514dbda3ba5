"""How far a command has come, for who watches it on a terminal."""

from __future__ import annotations

import sys


def progress(text: str) -> None:
    """One line of a terminal, written over the last one; nothing takes it away."""
    if sys.stderr.isatty():
        from plait.dsl.render.printable import printable

        print(f"\r\x1b[K{printable(text)}", end="", file=sys.stderr, flush=True)
