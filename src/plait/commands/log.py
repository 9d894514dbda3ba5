"""What the runtime says while a command works, for who watches it on a terminal."""

from __future__ import annotations

import logging
import sys


def show_log(verb: str) -> None:
    """Such as a build that takes a while. Where nobody watches, nothing is shown."""
    if sys.stderr.isatty():
        handler = logging.StreamHandler()
        handler.setFormatter(logging.Formatter(f"plait {verb}: %(message)s"))
        log = logging.getLogger("plait")
        log.addHandler(handler)
        log.setLevel(logging.INFO)
