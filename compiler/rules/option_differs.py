"""A launch recipe that passes the server another value than the spec is compiled with."""

from __future__ import annotations

from typing import TYPE_CHECKING

from plait.compiler.outside import Outside
from plait.compiler.rules.rule import Rule
from plait.dsl import syntax
from plait.dsl.diagnostic import Diagnostic, Label
from plait.dsl.span import Span
from plait.dsl.values import Value, kind, written

if TYPE_CHECKING:
    from plait.compiler.recipe.recipe import Given
    from plait.compiler.registry import Option

RULE = Rule(
    code="PL705",
    title="a recipe passes another value than the spec has",
    why="""\
The server sizes its graphs and its rounds by what it is passed. Where the spec says otherwise, the
round that is proven is not the round that runs. Compile with the recipe's value, by `--set` or a
variant, or correct one of the two lines. Only the settings that are asked for are compared, not the
other variants of the file.""",
    bad="""\
spec 1
pipeline p {
  param num_steps = 2
  stream main
  buffer x : i64[4] carried
  phase step on main { updates x  rows num_steps }
}
""",
    mended="""\
spec 1
pipeline p {
  param num_steps = 3
  stream main
  buffer x : i64[4] carried
  phase step on main { updates x  rows num_steps }
}
""",
    target="ascend910c",
    recipes=(
        "python -m sglang.launch_server --speculative-num-steps 3\n",
        "python -m sglang.launch_server --speculative-num-steps 3\n",
    ),
)


def check(outside: Outside) -> list[Diagnostic]:
    diagnostics = []
    last = {(given.command, option.names): (given, option) for given, option in outside.options()}
    for given, option in last.values():
        texts = [word.value for word in given.words]
        if any(text is None for text in texts):
            continue  # another rule says so
        value = _read(option, [text for text in texts if text is not None])
        if value is None:
            kinds = {"whole": "a whole number", "wholes": "whole numbers", "text": "a value"}
            message = f"`{given.name}` takes {kinds.get(option.kind, option.kind)}"
            help = f"write it as `{given.name} {'1 2 4' if option.kind == 'wholes' else '2'}`"
            diagnostics.append(Diagnostic("PL106", message, given.span, help=help))
        elif outside.compared:
            diagnostics += _compared(outside, given, option, value)
    return diagnostics


def _read(option: Option, texts: list[str]) -> Value | None:
    """The value of an option, or None if it is of another kind."""
    if option.kind == "truth":
        return True
    if not texts:
        return None
    if option.kind == "text":
        return texts[0]
    numbers = texts if option.kind == "wholes" else texts[:1]
    if not all(text.isascii() and text.isdigit() and len(text) < 19 for text in numbers):
        return None
    if option.kind != "wholes":
        return int(numbers[0])
    return [*sorted({int(text) for text in numbers})]


def _compared(outside: Outside, given: Given, option: Option, value: Value) -> list[Diagnostic]:
    """What the first param or dim that stands for the option has against its value."""
    named: dict[str, Value] = {}
    named |= {name: outside.values[name] for name in option.params if name in outside.values}
    named |= {name: [*outside.sizes[name]] for name in option.dims if name in outside.sizes}
    for name, own in named.items():
        compared: Value = own
        if option.largest and isinstance(own, list):
            if not own or not all(type(item) is int for item in own):
                continue
            compared = max(own)  # type: ignore[type-var]
        if kind(compared) != kind(value):
            continue
        if compared == value:
            return []
        what = "the largest of " if option.largest else ""
        message = (
            f"the recipe passes {given.name} {_shown(value)}; {what}`{name}` is {_shown(compared)}"
        )
        label = f"`{name}` is {written(own)}"
        labels = tuple(Label(span, label) for span in _declared(outside.pipeline, name))
        if name in option.params and not option.largest:
            help = f"compile with `--set {name}={_set(value)}`, or correct one of them"
        else:
            help = "correct one of them"
        facts = (("option", given.name), ("recipe", written(value)), (name, written(own)))
        return [Diagnostic(RULE.code, message, given.span, labels=labels, facts=facts, help=help)]
    return []


def _declared(pipeline: syntax.Pipeline, name: str) -> list[Span]:
    """Where a param, flag or dim of the pipeline is declared."""
    declared = [
        node.name
        for node in pipeline.body
        if isinstance(node, syntax.Param | syntax.Flag | syntax.Dim)
    ]
    return [one.span for one in declared if one.text == name]


def _shown(value: Value) -> str:
    if isinstance(value, list):
        return " ".join(map(str, value))
    return str(value)


def _set(value: Value) -> str:
    text = written(value)
    return f"'{text}'" if isinstance(value, list | str) else text
