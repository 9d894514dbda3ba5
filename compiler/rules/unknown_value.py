"""A value of a launch recipe that only running the recipe would tell."""

from __future__ import annotations

from plait.compiler.outside import Outside
from plait.compiler.rules.rule import Rule
from plait.dsl.diagnostic import Diagnostic, Label

RULE = Rule(
    code="PL707",
    title="a recipe's value is known only when it runs",
    why="""\
A recipe is read and never run: `$NAME`, `${NAME}` and `$(command)` have no value here. The spec is
proven with its own default in place of such an export, and such an option is compared with nothing.
Write the value out to have it checked.""",
    bad="""\
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
    recipes=(
        "export SGLANG_DISABLE_DRAFT_EXTEND_CUDA_GRAPH=${NO_GRAPH:-0}\n",
        "export SGLANG_DISABLE_DRAFT_EXTEND_CUDA_GRAPH=0\n",
    ),
)


def check(outside: Outside) -> list[Diagnostic]:
    if outside.recipe is None:
        return []
    diagnostics = []
    help = "write the value out to have it checked"
    exported = {export.name: export for export in outside.recipe.exports}
    for flag in outside.flags:
        export = exported.get(flag.variable)
        if export is not None and export.value is None:
            message = f"what the recipe sets `{export.name}` to is known only when it runs"
            labels = (Label(flag.span, f"`{flag.flag}` takes its default"),)
            facts = (("variable", export.name), ("flag", flag.flag))
            diagnostics.append(
                Diagnostic(
                    RULE.code, message, export.span, RULE.severity, "", labels, (), facts, help
                )
            )
    for given, _ in outside.options():
        if any(word.value is None for word in given.words):
            message = f"what the recipe passes as {given.name} is known only when it runs"
            facts = (("option", given.name),)
            diagnostics.append(
                Diagnostic(RULE.code, message, given.span, RULE.severity, facts=facts, help=help)
            )
    return diagnostics
