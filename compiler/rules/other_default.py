"""A flag whose default is not what the variable's reader takes where it is not set."""

from __future__ import annotations

from contextlib import suppress

from plait.compiler.outside import Outside
from plait.compiler.rules.rule import Rule
from plait.dsl.diagnostic import Diagnostic, SpecError
from plait.dsl.settings import FlagRead
from plait.dsl.values import Silenced, Value, evaluate, kind, written

RULE = Rule(
    code="PL703",
    title="a flag's default is not its reader's",
    why="""\
Where the variable is not set, the spec takes its own default and the server another, so the round
that is proven is not the round that runs. Take the server's default, or have both proven: a variant
that sets the flag to the server's default says that the difference is meant.""",
    bad="""\
spec 1
pipeline p {
  flag apart = env("SGLANG_ENABLE_OVERLAP_PLAN_STREAM", true)
  stream main
  stream plan if apart else main
  buffer x : i64[4] carried
  phase step on main { updates x }
}
""",
    mended="""\
spec 1
pipeline p {
  flag apart = env("SGLANG_ENABLE_OVERLAP_PLAN_STREAM", true)
  stream main
  stream plan if apart else main
  buffer x : i64[4] carried
  phase step on main { updates x }
}
variant serial of p { set apart = false }
""",
    target="ascend910c",
)


def check(outside: Outside) -> list[Diagnostic]:
    diagnostics = []
    for flag in outside.flags:
        for registry in outside.target.registries:
            read = registry.flag(flag.variable, outside.target.device)
            if read is None or read.default is None or _same(flag.default, read.default):
                continue
            if _proven(outside, flag, read.default):
                continue
            theirs = written(read.default)
            message = f"`{flag.flag}` is {written(flag.default)} where `{flag.variable}` is not set"
            facts = (
                ("flag", flag.flag),
                ("variable", flag.variable),
                (registry.title, theirs),
                ("read by", read.read_by[0] if read.read_by else registry.name),
            )
            help = f"write `{theirs}`, or add a variant with `set {flag.flag} = {theirs}`"
            diagnostics.append(
                Diagnostic(
                    RULE.code,
                    f"{message}; {registry.name} takes {theirs}",
                    flag.span,
                    RULE.severity,
                    facts=facts,
                    help=help,
                )
            )
    return diagnostics


def _same(left: Value, right: Value) -> bool:
    return kind(left) == kind(right) and left == right


def _proven(outside: Outside, flag: FlagRead, theirs: Value) -> bool:
    """Whether some variant is the round that runs where the variable is not set."""
    for variant in outside.variants:
        for setting in variant.settings:
            if setting.name.text == flag.flag:
                with suppress(SpecError, Silenced):
                    if _same(evaluate(setting.value, outside.values), theirs):
                        return True
    return False
