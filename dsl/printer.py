"""Syntax to text: what is printed parses to the same syntax again.

`formatted` lays a text out with all that its author wrote; this is for syntax that no text says, made
or changed by a program. It is one line a statement: `formatted` makes a page of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from decimal import Decimal
from typing import Any

from plait.dsl import syntax

_BINDS = {"or": 1, "and": 2, "not": 3}
_BINDS |= dict.fromkeys(("==", "!=", "<", "<=", ">", ">=", "in"), 4)
_BINDS |= {"+": 5, "-": 5} | dict.fromkeys(("*", "/", "//", "%"), 6)
_COMPARES, _SUM, _NEGATES, _TIGHTEST = 4, 5, 7, 8


def printed(node: syntax.Node) -> str:
    """The text of a node of any sort."""
    return _PRINTERS[type(node)](node)


def _join(nodes: Iterable[syntax.Node], between: str = ", ") -> str:
    return between.join(printed(node) for node in nodes)


def _words(*parts: object) -> str:
    """Parts that are there, with a blank between; a pair is a word and what stands behind it."""
    texts = []
    for part in parts:
        if isinstance(part, tuple):
            word, node = part
            part = node and f"{word} {node if isinstance(node, str) else printed(node)}"
        if part:
            texts.append(printed(part) if isinstance(part, syntax.Node) else str(part))
    return " ".join(texts)


def _block(nodes: Iterable[syntax.Node]) -> str:
    return f"{{\n{''.join(f'{printed(node)}{chr(10)}' for node in nodes)}}}"


# Expressions


def _number(value: int | float) -> str:
    if isinstance(value, int):
        return str(value)
    text = format(Decimal(repr(value)), "f")  # the grammar knows no exponents
    return text if "." in text else f"{text}.0"


def _binds(node: syntax.Expression) -> int:
    if isinstance(node, syntax.Binary):
        return _BINDS[node.operator]
    if isinstance(node, syntax.Unary):
        return _BINDS["not"] if node.operator == "not" else _NEGATES
    return _TIGHTEST


def _held(node: syntax.Expression, least: int) -> str:
    """In parentheses, where it does not bind as tightly as what stands around it asks."""
    return printed(node) if _binds(node) >= least else f"({printed(node)})"


def _sum(node: syntax.Axis | None) -> str:
    """Where the grammar asks for a sum, or an axis."""
    if node is None or isinstance(node, syntax.Whole | syntax.Range):
        return printed(node) if node else ""
    return _held(node, _SUM)


def _sums(nodes: Iterable[syntax.Axis]) -> str:
    return ", ".join(_sum(node) for node in nodes)


def _unary(node: syntax.Unary) -> str:
    if node.operator == "not":
        return f"not {_held(node.operand, _BINDS['not'])}"
    return f"-{_held(node.operand, _NEGATES)}"


def _binary(node: syntax.Binary) -> str:
    own = _BINDS[node.operator]
    left = _held(node.left, own + (own == _COMPARES))  # comparisons do not follow each other
    return f"{left} {node.operator} {_held(node.right, own + 1)}"


# Declarations


def _stream(node: syntax.Stream) -> str:
    choice = _words(("if", node.condition), ("else", node.otherwise))
    return _words("stream", node.name, (":", node.kind), ("=", node.alias), choice)


def _attribute(node: syntax.Attribute) -> str:
    if node.place is not None:
        return _words(node.name, node.place)
    return node.name.text if node.number is None else f"{node.name.text} {_signed(node.number)}"


def _signed(number: int | float) -> str:
    return f"-{_number(-number)}" if number < 0 else _number(number)


def _buffer(node: syntax.Buffer) -> str:
    shape = "" if node.shape is None else f"[{_sums(node.shape)}]"
    return _words("buffer", node.name, f": {node.dtype.text}{shape}", *node.attributes)


# The round


def _label(node: syntax.Label) -> str:
    return node.name.text if node.index is None else f"{node.name.text}[{_sum(node.index)}]"


def _prev(rounds: int) -> str:
    return f"prev {rounds} " if rounds else ""


def _access(node: syntax.Access) -> str:
    region = "" if node.region is None else f"[{_sums(node.region)}]"
    path = "".join(f"{printed(label)}." for label in node.within)
    named = f" as {node.argument.text}" if node.argument else ""
    return f"{_prev(node.rounds_back)}{path}{node.buffer.text}{region}{named}"


def _phase(node: syntax.Phase) -> str:
    word = "launch" if node.launched else "phase"
    head = _words(word, node.label, ("on", node.stream), *node.attributes)
    return f"{head} {_block(node.clauses)}"


def _capture(node: syntax.Capture) -> str:
    head = _words("capture", node.label, ("on", node.stream), ("rows", _sum(node.rows)))
    return _words(head, ("in", node.pool), ("when", node.condition), _block(node.body))


def _call(node: syntax.Call) -> str:
    module = _join(node.module, ".")
    return _words(f"call {module}({_join(node.actuals)})", ("as", node.label))


def _when(node: syntax.When) -> str:
    otherwise = f"else {_block(node.otherwise)}" if node.otherwise else ""
    return _words(("when", node.condition), _block(node.body), otherwise)


def _formal(node: syntax.Formal) -> str:
    return _words("" if node.kind == "value" else node.kind, node.name, ("=", node.default))


def _file(node: syntax.File) -> str:
    parts = [*node.uses, *node.modules, *node.pipelines, *node.variants]
    return f"spec {node.version}\n{''.join(f'{printed(part)}{chr(10)}' for part in parts)}"


_PRINTERS: dict[type[syntax.Node], Callable[[Any], str]] = {
    syntax.File: _file,
    syntax.Name: lambda n: n.text,
    syntax.Number: lambda n: _number(n.value),
    syntax.Quantity: lambda n: f"{_number(n.value)}{n.unit}",
    syntax.Text: lambda n: f'"{n.value}"',
    syntax.Truth: lambda n: "true" if n.value else "false",
    syntax.Reference: lambda n: n.name.text,
    syntax.Function: lambda n: f"{n.name.text}({_join(n.arguments)})",
    syntax.Item: lambda n: f"{n.name.text}[{_sum(n.index)}]",
    syntax.Sequence: lambda n: f"[{_join(n.items)}]",
    syntax.Unary: _unary,
    syntax.Binary: _binary,
    syntax.Param: lambda n: _words("param", n.name, ("in", _sum(n.choices)), ("=", n.value)),
    syntax.Flag: lambda n: _words("flag", n.name, ("=", n.value)),
    syntax.Require: lambda n: f"require {_join(filter(None, (n.condition, n.reason)))}",
    syntax.Agreement: lambda n: _words("same" if n.same else "", ("over", n.group)),
    syntax.Dim: lambda n: _words("dim", n.name, ("in", _sum(n.sizes)), n.agreement),
    syntax.Guard: lambda n: _words(
        "guard", n.name, n.agreement, ("if", n.condition), ("else", n.otherwise)
    ),
    syntax.Group: lambda n: _words("group", n.name, ("=", _sum(n.size)), ("in", n.inside)),
    syntax.Pool: lambda n: _words("pool", n.name, ("=", _sum(n.size))),
    syntax.Stream: _stream,
    syntax.Attribute: _attribute,
    syntax.Buffer: _buffer,
    syntax.Assume: lambda n: f"assume disjoint {_join((*n.accesses, n.reason))}",
    syntax.Label: _label,
    syntax.Whole: lambda n: "_",
    syntax.Range: lambda n: f"{_sum(n.first)} .. {_sum(n.last)}",
    syntax.Access: _access,
    syntax.Accesses: lambda n: f"{n.kind} {_join(n.items)}",
    syntax.Rows: lambda n: _words(("rows", _sum(n.count))),
    syntax.Collective: lambda n: _words(
        "collective", n.kind, ("over", n.group), ("capacity", _sum(n.capacity))
    ),
    syntax.Cost: lambda n: _words(("cost", _sum(n.amount))),
    syntax.ClauseWhen: lambda n: _words(("when", n.condition), _block(n.clauses)),
    syntax.Phase: _phase,
    syntax.Point: lambda n: f"{_prev(n.rounds_back)}{_join(n.path, '.')}",
    syntax.Fork: lambda n: _words("fork", n.stream, ("from", n.point)),
    syntax.Join: lambda n: _words("join", n.point, ("into", n.into)),
    syntax.Await: lambda n: _words("await", n.point, ("on", n.stream)),
    syntax.Capture: _capture,
    syntax.Actual: lambda n: _words(n.name, ("=", n.value)),
    syntax.Call: _call,
    syntax.Interleave: lambda n: _words(
        "interleave", ("by", _sum(n.behind)), _block((n.first, n.second))
    ),
    syntax.Yield: lambda n: "yield",
    syntax.For: lambda n: _words(
        "for", n.name, ("in", _sum(n.first)), ("..", _sum(n.last)), _block(n.body)
    ),
    syntax.When: _when,
    syntax.Pipeline: lambda n: _words("pipeline", n.name, _block(n.body)),
    syntax.Formal: _formal,
    syntax.Module: lambda n: f"module {n.name.text}({_join(n.formals)}) {_block(n.body)}",
    syntax.Use: lambda n: _words("use", n.source, ("as", n.alias)),
    syntax.Setting: lambda n: _words("set", n.name, ("=", n.value)),
    syntax.Variant: lambda n: _words("variant", n.name, ("of", n.of), _block(n.settings)),
}
