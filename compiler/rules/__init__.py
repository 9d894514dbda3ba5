"""What a round may not do: one rule a file, each its own documentation.

A rule module has a `RULE` that says what it refuses and why, with a bad and a mended example, and a
`check` that finds it in a round. Adding one means adding it to the list it belongs to.
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
    unneeded_edge,
)
from plait.compiler.rules.rule import Rule
from plait.dsl.codes import CODES

MODULES = (
    race,
    overlap,
    read_before_write,
    prev_not_kept,
    never_comes_back,
    host_in_capture,
)
"""Rules that judge a round by itself."""
NOTES = (unneeded_edge,)
"""Rules that judge a sound pipeline as a whole, by the order of every variant and bucket."""
RULES: tuple[Rule, ...] = tuple(module.RULE for module in (*MODULES, too_many_streams, *NOTES))


def meanings() -> dict[str, tuple[str, str]]:
    """Every code there is, with what it says in a line, and why."""
    found = {code: (meaning, "") for code, meaning in CODES.items()}
    found |= {rule.code: (rule.title, rule.why) for rule in RULES}
    return dict(sorted(found.items()))
