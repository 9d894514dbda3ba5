"""A flag that reads a variable which can only be a runtime's, and which that runtime does not read."""

from __future__ import annotations

from plait.compiler.outside import Outside, unread
from plait.compiler.rules.rule import Rule
from plait.dsl.diagnostic import Diagnostic, Edit, Fix

RULE = Rule(
    code="PL701",
    title="a flag reads a variable that no runtime reads",
    why="""\
A flag stands for a choice that the server makes too, by reading the same variable. A runtime ignores
a name that it does not know without a word: the spec would take one way, and the server the other.
The message names the variable that is read: the new name of a renamed one, or else the nearest.""",
    bad="""\
spec 1
pipeline p {
  flag no_graph = env("SGLANG_DISABLE_DRAFT_EXTEND_GRAPH", false)
  stream main
  buffer x : i64[4] carried
  capture extend on main rows 4 when not no_graph {
    phase step on main { updates x }
  }
}
""",
    mended="""\
spec 1
pipeline p {
  flag no_graph = env("SGLANG_DISABLE_DRAFT_EXTEND_CUDA_GRAPH", false)
  stream main
  buffer x : i64[4] carried
  capture extend on main rows 4 when not no_graph {
    phase step on main { updates x }
  }
}
""",
    target="ascend910c",
)


def check(outside: Outside) -> list[Diagnostic]:
    diagnostics = []
    for flag in outside.flags:
        found = unread(flag.variable, outside.target)
        if found is None or found.owner is None:
            continue
        message = f"nothing reads `{flag.variable}`, which the flag `{flag.flag}` stands for"
        if found.elsewhere:
            message = f"`{flag.variable}` is not read on {outside.target.name}"
        help, fix = "", None
        if found.renamed:
            help = f"{found.owner.name} reads `{found.renamed}`"
            edit = Edit(flag.span, f'"{found.renamed}"')
            fix = Fix(f'write "{found.renamed}"', (edit,))
        elif found.elsewhere:
            help = f"it is read on {', '.join(found.elsewhere)}"
        elif found.close:
            help = f"did you mean `{found.close}`?"
        else:
            help = f"leave the flag out, or correct the name: {found.owner.title} has none like it"
        facts = (
            ("flag", flag.flag),
            ("variable", flag.variable),
            ("runtime", found.owner.title),
            ("target", outside.target.name),
        )
        diagnostics.append(
            Diagnostic(RULE.code, message, flag.span, facts=facts, help=help, fix=fix)
        )
    return diagnostics
