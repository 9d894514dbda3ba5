"""What every rule says of itself."""

from __future__ import annotations

from dataclasses import dataclass

from plait.dsl.codes import severity_of
from plait.dsl.diagnostic import Severity
from plait.dsl.record import Record


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Rule(Record):
    code: str
    title: str
    """What is refused, or noted, in one line."""
    why: str
    """What would happen, and how to mend it. Plain sentences."""
    bad: str
    """A whole spec that the rule refuses, or has a note on."""
    mended: str
    """The same spec, right."""

    @property
    def severity(self) -> Severity:
        return severity_of(self.code)

    @property
    def verdict(self) -> str:
        """What the bad example is, in a word."""
        return "refused" if self.severity == "error" else "noted"

    def page(self) -> str:
        """What `plait explain CODE` prints."""
        parts = [f"{self.code}: {self.title}", "", self.why]
        for title, example in ((self.verdict, self.bad), ("right", self.mended)):
            if example:
                parts += ["", f"{title}:", "", *(f"    {line}" for line in example.splitlines())]
        return "\n".join(parts) + "\n"
