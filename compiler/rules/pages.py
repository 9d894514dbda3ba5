"""`docs/diagnostics.md`, generated: `python -m plait.compiler.rules.pages > docs/diagnostics.md`."""

from __future__ import annotations

from plait.compiler.rules import RULES
from plait.compiler.rules.codes import MISTAKES

SILENCED = """\
spec 1
pipeline throttled {
  stream main
  buffer x : i64[4] carried
  phase step on main { updates x }
  # allow PL901: the host must not run ahead of the device
  join prev step into host
}
"""
"""A spec with a note that is answered."""


def markdown() -> str:
    """One section for every code, with what it refuses and what is right."""
    parts = ["# Diagnostics", ""]
    parts += [
        "Generated from the rules by `python -m plait.compiler.rules.pages`; `plait explain CODE` prints",
        "the same. The first digit is the family: 0 text, 1 names and values, 2 races, 3 values that are not",
        "there, 4 structure, 5 capture, 6 sizes, 7 flags and launch recipes, 8 budgets, 9 waste.",
        "",
        "Waste is a note: it is reported, and `plait check` still passes. A note that has an answer is",
        "silenced in the spec, with the reason, by a comment on its line or on a line of its own directly",
        "above it. An error never is.",
        "",
        "```spec",
        SILENCED.rstrip(),
        "```",
        "",
    ]
    for rule in sorted((*RULES, *MISTAKES), key=lambda rule: rule.code):
        parts += [f"## {rule.code}: {rule.title}", "", rule.why, ""]
        for title, example in rule.examples():
            parts += [f"{title.capitalize()}:", "", "```", example.rstrip(), "```", ""]
    return "\n".join(parts)


if __name__ == "__main__":
    print(markdown(), end="")
