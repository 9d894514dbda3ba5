"""What a round may not do: one rule a file, each its own documentation.

A rule module has a `RULE` that says what it refuses and why, with a bad and a mended example, and a
`check` that finds it in a round, or in what the round takes from outside. Adding one means adding it to
`MODULES` here, or to `OUTSIDE` in `outside.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from plait.compiler.rules import (
    changed_input,
    host_in_capture,
    never_comes_back,
    prev_not_kept,
    race,
    read_before_write,
    too_many_streams,
)
from plait.compiler.rules.rule import Rule

MODULES = (
    race,
    read_before_write,
    prev_not_kept,
    never_comes_back,
    host_in_capture,
    changed_input,
)
"""Rules that judge a round by itself."""
if TYPE_CHECKING:
    RULES: tuple[Rule, ...]


def __getattr__(name: str) -> tuple[Rule, ...]:
    # Late, so that a round on a target without runtimes loads no rule about them.
    if name == "RULES":
        from plait.compiler.rules.outside import OUTSIDE

        return tuple(module.RULE for module in (*MODULES, *OUTSIDE, too_many_streams))
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
