"""What every rule says of itself."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Rule:
    code: str
    title: str
    """What is refused, in one line."""
    why: str
    """What would happen, and how to mend it. Plain sentences."""
    bad: str
    """A whole spec that the rule refuses."""
    mended: str
    """The same spec, right."""
