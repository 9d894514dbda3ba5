"""What a call gives to its module: each formal is what the call names, its default, or the caller's own."""

from __future__ import annotations

from typing import NoReturn

from plait.compiler.elaboration.scope import Scope, What
from plait.compiler.round import HOST
from plait.dsl import syntax
from plait.dsl.diagnostic import Diagnostic, SpecError
from plait.dsl.library import Library
from plait.dsl.span import Span
from plait.dsl.suggest import did_you_mean
from plait.dsl.values import BROKEN, Silenced, evaluate, whole

MOST_DEEP = 64


class Calls:
    """The calls that are being expanded, outermost first."""

    def __init__(self) -> None:
        self.depth = 0

    def leave(self) -> None:
        self.depth -= 1

    def enter(
        self,
        node: syntax.Call,
        module: syntax.Module,
        library: Library,
        caller: Scope,
        label: syntax.Label,
        name: str,
    ) -> Scope:
        """The scope that the module's body is expanded in. Raises SpecError, Silenced."""
        if self.depth >= MOST_DEEP:
            message = f"calls stand more than {MOST_DEEP} deep in each other"
            _fail("PL603", message, node.span, "does the module call itself?")
        index = caller.index if label.index is None else whole(label.index, caller.values)
        scope = Scope(
            library, f"{caller.prefix}{name}.", f"{caller.base}{label.name.text}.", index, caller
        )
        scope.numbers["stream"]["host"] = HOST
        _give(node, module, caller, scope)
        self.depth += 1
        return scope


def _give(node: syntax.Call, module: syntax.Module, caller: Scope, scope: Scope) -> None:
    actuals: dict[str, syntax.Actual] = {}
    formals = {formal.name.text: formal for formal in module.formals}
    for actual in node.actuals:
        name = actual.name.text
        if name not in formals:
            message = f"`{module.name.text}` has no formal `{name}`"
            _fail("PL118", message, actual.name.span, did_you_mean(name, formals))
        if name in actuals:
            _fail("PL104", f"`{name}` is given twice", actual.name.span)
        actuals[name] = actual
    for formal in module.formals:
        name = formal.name.text
        if name in scope.values or (formal.kind, name) in scope.declared:
            _fail("PL104", f"`{name}` is declared twice", formal.name.span)
        if formal.kind == "value":
            _give_value(node, formal, actuals.get(name), caller, scope)
        else:
            _give_number(formal.kind, node, formal, actuals.get(name), caller, scope)


def _give_value(
    node: syntax.Call,
    formal: syntax.Formal,
    actual: syntax.Actual | None,
    caller: Scope,
    scope: Scope,
) -> None:
    name = formal.name.text
    scope.values[name] = BROKEN
    if actual is not None:
        scope.values[name] = evaluate(actual.value, caller.values)
        scope.size(name, actual.value, caller)
    elif formal.default is not None:
        scope.values[name] = evaluate(formal.default, scope.values)
        scope.size(name, formal.default)
    elif name in caller.values:
        if caller.values[name] is BROKEN:
            raise Silenced
        scope.values[name] = caller.values[name]
        if name in caller.sized:
            scope.sized[name] = caller.sized[name]
    else:
        _not_given(node, formal)


def _give_number(
    what: What,
    node: syntax.Call,
    formal: syntax.Formal,
    actual: syntax.Actual | None,
    caller: Scope,
    scope: Scope,
) -> None:
    name = formal.name.text
    scope.declare(what, formal.name)
    if actual is not None:
        if not isinstance(actual.value, syntax.Reference):
            message = f"`{name}` is a {what}, so its name should stand here"
            _fail("PL118", message, actual.value.span)
        number = caller.find(what, actual.value.name)
    elif name in caller.numbers[what]:
        number = caller.numbers[what][name]
    elif (what, name) in caller.declared:
        raise Silenced
    else:
        _not_given(node, formal)
    scope.numbers[what][name] = number


def _not_given(node: syntax.Call, formal: syntax.Formal) -> NoReturn:
    name = formal.name.text
    message = f"the call gives no {formal.kind} `{name}`, and there is none of that name here"
    _fail("PL118", message, node.span, f"write `{name} = ...` in the call")


def _fail(code: str, message: str, span: Span, help: str = "") -> NoReturn:
    raise SpecError([Diagnostic(code, message, span, help=help)])
