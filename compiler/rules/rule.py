"""What every rule says of itself."""

from __future__ import annotations

from plait.dsl.codes import severity_of
from plait.dsl.diagnostic import Severity
from plait.dsl.record import Record


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
    target: str = "cpu"
    """What both are compiled for."""
    recipes: tuple[str, str] | None = None
    """The launch recipes that they are held against, where the rule is about one."""
    limits: tuple[str, ...] = ()
    """Limits that both are held to in place of the target's, as `--limit` takes them."""

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
        for title, example in self.examples():
            parts += ["", f"{title}:", "", *(f"    {line}" for line in example.splitlines())]
        return "\n".join(parts) + "\n"

    def examples(self) -> list[tuple[str, str]]:
        """Each with its title: what is refused, or noted, and what is right."""
        on = "" if self.target == "cpu" else f" on {self.target}"
        on += "".join(f" with `--limit {limit}`" for limit in self.limits)
        shown = []
        titles = (self.verdict, "right")
        for number, (title, spec) in enumerate(zip(titles, (self.bad, self.mended), strict=True)):
            shown.append((title + on, spec))
            if self.recipes:
                shown.append(("with the recipe", self.recipes[number]))
        return shown
