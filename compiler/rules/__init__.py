"""What a round may not do: one rule a file, each its own documentation.

A rule module has a `RULE` that says what it refuses and why, with a bad and a mended example, and a
`check` that finds it in a round. Adding one means adding it to `RULES`.
"""

from __future__ import annotations

from plait.compiler.rules import (
    host_in_capture,
    never_comes_back,
    overlap,
    prev_not_kept,
    race,
    read_before_write,
    too_many_streams,
)
from plait.compiler.rules.rule import Rule

MODULES = (
    race,
    overlap,
    read_before_write,
    prev_not_kept,
    never_comes_back,
    host_in_capture,
)
"""Rules that judge a round by itself."""
RULES: tuple[Rule, ...] = tuple(module.RULE for module in (*MODULES, too_many_streams))
