"""What every rule says of itself."""

from __future__ import annotations

from dataclasses import dataclass

from plait.dsl.record import Record


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Rule(Record):
    code: str
    title: str
    """What is refused, in one line."""
    why: str
    """What would happen, and how to mend it. Plain sentences."""
    bad: str
    """A whole spec that the rule refuses."""
    mended: str
    """The same spec, right."""

    def page(self) -> str:
        """What `plait explain CODE` prints."""
        parts = [f"{self.code}: {self.title}", "", self.why]
        for title, example in (("refused", self.bad), ("right", self.mended)):
            if example:
                parts += ["", f"{title}:", "", *(f"    {line}" for line in example.splitlines())]
        return "\n".join(parts) + "\n"
