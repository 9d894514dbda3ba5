"""How much may be unrolled."""

from __future__ import annotations

from plait.dsl import syntax
from plait.dsl.diagnostic import Diagnostic, SpecError

MOST_PHASES = 1_000_000
STEPS_PER_PHASE = 4
"""Statements that may be expanded for each phase of the limit: loops around nothing end too."""


class Limit:
    """What may still be unrolled, over all routes of a pipeline."""

    def __init__(self, phases: int):
        self.most = phases
        self.phases = phases
        self.steps = STEPS_PER_PHASE * phases

    def take(self, node: syntax.Statement) -> None:
        self.steps -= 1
        self.phases -= isinstance(node, syntax.Phase)
        if self.phases < 0 or self.steps < 0:
            what = "phases" if self.phases < 0 else "statements"
            most = self.most if self.phases < 0 else STEPS_PER_PHASE * self.most
            message = f"over all its routes the round unrolls to more than {most:,} {what}"
            help = "shorten a loop, or list fewer buckets, choices and guards"
            raise TooMuch([Diagnostic("PL603", message, node.span, help=help)])


class TooMuch(SpecError):
    """The expansion ends here: the limit is spent."""
