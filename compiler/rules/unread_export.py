"""A launch recipe that exports a variable which nothing of the target reads."""

from __future__ import annotations

from plait.compiler.outside import Outside, unread
from plait.compiler.rules.rule import Rule
from plait.dsl.diagnostic import Diagnostic

ALIKE = 0.9
"""From here on a name that may be anyone's is taken for a slip."""

SPEC = """\
spec 1
pipeline p {
  stream main
  buffer x : i64[4] carried
  phase step on main { updates x }
}
"""

RULE = Rule(
    code="PL704",
    title="a recipe exports a variable that nothing reads",
    why="""\
The export looks like a setting and is none: the runtime that the name belongs to does not know it, and
says nothing. Export the name that is read, or leave the line out. A name without a runtime's prefix
is only noted, and only where it nearly is one that is read.""",
    bad=SPEC,
    mended=SPEC,
    target="ascend910c",
    recipes=(
        "export SGLANG_DISABLE_DRAFT_EXTEND_GRAPH=1\n",
        "export SGLANG_DISABLE_DRAFT_EXTEND_CUDA_GRAPH=1\n",
    ),
)


def check(outside: Outside) -> list[Diagnostic]:
    diagnostics = []
    for export in outside.recipe.exports if outside.recipe else ():
        found = unread(export.name, outside.target)
        if found is None:
            continue
        near = found.renamed or found.close
        if found.owner is None and not _slip(export.name, near):
            continue
        message = f"the recipe exports `{export.name}`, which nothing reads"
        help = f"did you mean `{near}`?" if near else "leave it out, or correct the name"
        if found.renamed and found.owner:
            help = f"{found.owner.name} reads `{found.renamed}`"
        elif found.elsewhere:
            message = (
                f"the recipe exports `{export.name}`, which is not read on {outside.target.name}"
            )
            help = f"it is read on {', '.join(found.elsewhere)}"
        facts = [("variable", export.name), ("target", outside.target.name)]
        if found.owner:
            facts.insert(1, ("runtime", found.owner.title))
        severity = RULE.severity if found.owner else "note"
        diagnostics.append(
            Diagnostic(RULE.code, message, export.span, severity, facts=tuple(facts), help=help)
        )
    return diagnostics


def _slip(name: str, near: str | None) -> bool:
    from difflib import SequenceMatcher  # only a mistake pays for it

    return near is not None and SequenceMatcher(None, name, near).ratio() >= ALIKE
