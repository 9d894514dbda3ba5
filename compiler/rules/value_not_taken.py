"""A flag, or an export of a recipe, with a value that the variable's reader does not take."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

from plait.compiler.outside import Outside
from plait.compiler.registry import Flag, Registry
from plait.compiler.rules.rule import Rule
from plait.dsl.diagnostic import Diagnostic
from plait.dsl.record import Record
from plait.dsl.span import Span
from plait.dsl.values import Value, written

RULE = Rule(
    code="PL709",
    title="a variable has a value that its reader does not take",
    why="""\
Readers differ in what they do with it: one falls back on its default without a word, another stops
hours into a run. Either way the round that is proven is not the round that runs. The message says what is
taken; it stands in the runtime's registry.""",
    bad="""\
spec 1
pipeline p {
  flag most_rows = env("SGLANG_DEEPEP_NUM_MAX_DISPATCH_TOKENS_PER_RANK", 128)
  stream main
  buffer x : i64[most_rows] carried
  phase step on main { updates x }
}
variant wide of p { set most_rows = 4096 }
""",
    mended="""\
spec 1
pipeline p {
  flag most_rows = env("SGLANG_DEEPEP_NUM_MAX_DISPATCH_TOKENS_PER_RANK", 128)
  stream main
  buffer x : i64[most_rows] carried
  phase step on main { updates x }
}
variant wide of p { set most_rows = 1024 }
""",
    target="ascend910c",
)


class Given(Record):
    """A value on its way to a variable's reader."""

    name: str
    """Of the flag, or of the variable itself."""
    variable: str
    value: Value
    span: Span


def check(outside: Outside) -> list[Diagnostic]:
    return [
        _diagnostic(given, registry, flag)
        for given in _given(outside)
        for registry in outside.target.registries
        if (flag := registry.flag(given.variable, outside.target.device))
        and not flag.takes(given.value)
    ]


def _given(outside: Outside) -> Iterator[Given]:
    flags = {flag.variable for flag in outside.flags}
    for flag in outside.flags:
        if flag.flag in outside.values:  # not where it was given what it cannot be
            yield Given(flag.flag, flag.variable, outside.values[flag.flag], flag.span)
    for export in outside.recipe.exports if outside.recipe else ():
        if export.value is not None and export.name not in flags:
            value: Value = export.value
            with suppress(ValueError):
                value = int(export.value)
            yield Given(export.name, export.name, value, export.span)


def _diagnostic(given: Given, registry: Registry, flag: Flag) -> Diagnostic:
    value = written(given.value)
    facts = (
        ("variable", given.variable),
        ("runtime", registry.title),
        ("taken", flag.taken),
        ("read by", flag.read_by[0] if flag.read_by else registry.name),
    )
    message = f"`{given.name}` is {value}, which the reader of `{given.variable}` does not take"
    return Diagnostic(
        RULE.code,
        message,
        given.span,
        RULE.severity,
        facts=facts,
        help=f"give it {flag.taken}",
    )
