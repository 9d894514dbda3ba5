"""Rules that judge what a pipeline takes from outside: flags, and a launch recipe."""

from __future__ import annotations

from plait.compiler.rules import (
    option_differs,
    option_twice,
    other_default,
    unknown_flag,
    unknown_value,
    unread_export,
    unread_flag,
    value_not_taken,
)

OUTSIDE = (
    unread_flag,
    unknown_flag,
    other_default,
    unread_export,
    option_differs,
    option_twice,
    unknown_value,
    value_not_taken,
)
