"""A launch recipe that passes one option twice to one command."""

from __future__ import annotations

from typing import TYPE_CHECKING

from plait.compiler.outside import Outside
from plait.compiler.rules.rule import Rule
from plait.compiler.rules.unread_export import SPEC
from plait.dsl.diagnostic import Diagnostic, Label

if TYPE_CHECKING:
    from plait.compiler.recipe.recipe import Given

RULE = Rule(
    code="PL706",
    title="a recipe passes an option twice",
    why="""\
The server takes the last one and says nothing, so an edit of the first changes nothing. Leave one of
them out. Two commands of a recipe may each have the option.""",
    bad=SPEC,
    mended=SPEC,
    target="ascend910c",
    recipes=(
        "python -m sglang.launch_server --speculative-num-steps 2 --speculative-num-steps=3\n",
        "python -m sglang.launch_server --speculative-num-steps=3\n",
    ),
)


def check(outside: Outside) -> list[Diagnostic]:
    diagnostics = []
    before: dict[tuple[int, tuple[str, ...]], Given] = {}
    for given, option in outside.options():
        key = (given.command, option.names)
        if key in before:
            first = before[key]
            message = f"the recipe passes {given.name} twice; the server takes the last one"
            labels = (Label(first.span, "the first one"),)
            facts = (("option", given.name),)
            help = "leave one of them out"
            diagnostics.append(
                Diagnostic(RULE.code, message, given.span, labels=labels, facts=facts, help=help)
            )
        before[key] = given
    return diagnostics
