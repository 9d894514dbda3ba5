"""A flag that reads a variable of which no runtime of the target is known to take notice."""

from __future__ import annotations

from plait.compiler.outside import Outside, unread
from plait.compiler.rules.rule import Rule
from plait.dsl.diagnostic import Diagnostic

RULE = Rule(
    code="PL702",
    title="no runtime of the target is known to read a flag's variable",
    why="""\
The name has no runtime's prefix, so it may be your own service's. If it is meant for a runtime, it is
not one that the target's file lists. List it there, under `[[flags]]` of a target of yours, and this
is not said again; the flag's default is then compared as well.""",
    bad="""\
spec 1
pipeline p {
  flag queue = env("TASK_QUEUE_ENABLED", 1)
  stream main
  buffer x : i64[4] carried
  phase step on main { updates x  rows queue + 1 }
}
""",
    mended="""\
spec 1
pipeline p {
  flag queue = env("TASK_QUEUE_ENABLE", 1)
  stream main
  buffer x : i64[4] carried
  phase step on main { updates x  rows queue + 1 }
}
""",
    target="ascend910c",
)


def check(outside: Outside) -> list[Diagnostic]:
    diagnostics = []
    for flag in outside.flags if outside.target.registries else ():
        found = unread(flag.variable, outside.target)
        if found is None or found.owner is not None:
            continue
        target = outside.target.name
        message = f"no runtime of {target} is known to read `{flag.variable}`"
        help = f"did you mean `{found.close}`?"
        if not found.close:
            help = "if your own code reads it, list it below `[[flags]]` in a target of yours"
        if found.elsewhere:
            help = f"it is read on {', '.join(found.elsewhere)}"
        facts = (("flag", flag.flag), ("variable", flag.variable), ("target", target))
        diagnostics.append(
            Diagnostic(RULE.code, message, flag.span, RULE.severity, facts=facts, help=help)
        )
    return diagnostics
