"""What a round may not do: one rule a file, each its own documentation.

A rule module has a `RULE` that says what it refuses and why, with a bad and a mended example, and a
`check` that finds it in a round. Adding one means adding it to `RULES`.
"""

from __future__ import annotations

from plait.compiler.rules import (
    changed_input,
    host_in_capture,
    never_comes_back,
    option_differs,
    option_twice,
    other_default,
    prev_not_kept,
    race,
    read_before_write,
    too_many_streams,
    unknown_flag,
    unknown_value,
    unread_export,
    unread_flag,
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
OUTSIDE = (
    unread_flag,
    unknown_flag,
    other_default,
    unread_export,
    option_differs,
    option_twice,
    unknown_value,
)
"""Rules that judge what a pipeline takes from outside."""
RULES: tuple[Rule, ...] = tuple(module.RULE for module in (*MODULES, *OUTSIDE, too_many_streams))
