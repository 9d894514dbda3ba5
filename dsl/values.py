"""Expressions to values: numbers, truths, texts, lists, times, sizes and types of elements.

Nothing is ever evaluated as Python: the operators and functions below are all there are. A wrong
kind is an error at the place of the operand, and whole numbers stay within 64 bits.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any, NoReturn, TypeAlias

from plait.dsl import syntax
from plait.dsl.build import LARGEST
from plait.dsl.diagnostic import Diagnostic, SpecError
from plait.dsl.record import Record
from plait.dsl.span import Span
from plait.dsl.suggest import did_you_mean
from plait.dsl.words import DTYPES

MOST_ITEMS = 4096
"""Items of a list: more buckets or tables than anyone writes by hand."""


UNITS = {
    "ns": ("ns", 1),
    "us": ("ns", 1_000),
    "ms": ("ns", 1_000_000),
    "KiB": ("B", 1 << 10),
    "MiB": ("B", 1 << 20),
    "GiB": ("B", 1 << 30),
}
"""Of each unit, what is counted, and how many of it make one."""


class Measure(Record):
    """A time in nanoseconds or a size in bytes."""

    amount: int
    counts: str
    """`ns` or `B`."""

    def __str__(self) -> str:
        """In the largest unit that holds it whole."""
        for unit, (counts, each) in reversed(UNITS.items()):
            if counts == self.counts and self.amount % each == 0:
                return f"{self.amount // each}{unit}"
        whole, rest = divmod(self.amount, 1024)  # bytes: parts of a KiB have at most ten decimals
        return f"{whole}.{rest * 9765625:010d}".rstrip("0") + "KiB"


class Dtype(Record):
    """What the elements of a buffer are: `bf16`."""

    name: str

    def __str__(self) -> str:
        return self.name


Value: TypeAlias = bool | int | float | str | Measure | Dtype | list["Value"]


class Broken:
    """Stands for the value of a declaration that was itself wrong."""


BROKEN = Broken()


class Silenced(Exception):
    """An expression needs something whose own mistake is already reported."""


def kind(value: Value) -> str:
    """The kind of a value, in the words of messages."""
    if isinstance(value, bool):
        return "a truth value"
    if isinstance(value, int):
        return "a whole number"
    if isinstance(value, float):
        return "a fraction"
    if isinstance(value, Measure):
        return "a time" if value.counts == "ns" else "a size"
    if isinstance(value, Dtype):
        return "a type of elements"
    return "a text" if isinstance(value, str) else "a list"


def written(value: Value) -> str:
    """A value as a spec writes it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, list):
        return "[" + ", ".join(written(item) for item in value) + "]"
    return str(value)


def plain(value: Value) -> Any:
    """A value as JSON has it: times, sizes and types as the text that says them."""
    if isinstance(value, list):
        return [plain(item) for item in value]
    return value if isinstance(value, bool | int | float | str) else written(value)


def evaluate(expression: syntax.Expression, scope: Mapping[str, Value | Broken]) -> Value:
    """The value of an expression. Raises SpecError, or Silenced when it needs a broken name."""
    match expression:
        case syntax.Number(value=value):
            if abs(value) > LARGEST:
                _fail("PL103", "a whole number has at most 63 bits", expression.span)
            return value
        case syntax.Quantity():
            return _measure(expression)
        case syntax.Text(value=value) | syntax.Truth(value=value):
            return value
        case syntax.Reference(name=name):
            return _look_up(name, scope)
        case syntax.Sequence(items=items):
            if len(items) > MOST_ITEMS:
                _fail("PL103", f"a list has at most {MOST_ITEMS} items", expression.span)
            return [evaluate(item, scope) for item in items]
        case syntax.Unary():
            return _unary(expression, scope)
        case syntax.Binary():
            return _binary(expression, scope)
        case syntax.Item(name=name, index=index):
            return _item(_look_up(name, scope), name, index, evaluate(index, scope))
        case syntax.Function():
            return _function(expression, scope)


def whole(expression: syntax.Expression, scope: Mapping[str, Value | Broken]) -> int:
    """The value of an expression that must be a whole number."""
    return _of_kind(expression, evaluate(expression, scope), int)


def truth(expression: syntax.Expression, scope: Mapping[str, Value | Broken]) -> bool:
    """The value of an expression that must be true or false."""
    return _of_kind(expression, evaluate(expression, scope), bool)


def _fail(code: str, message: str, span: Span, help: str = "") -> NoReturn:
    raise SpecError([Diagnostic(code, message, span, help=help)])


def _look_up(name: syntax.Name, scope: Mapping[str, Value | Broken]) -> Value:
    if name.text not in scope:
        if name.text in DTYPES:
            return Dtype(name.text)
        known = _TRUTHS.get(name.text.lower()) or did_you_mean(
            name.text, [n for n, value in scope.items() if not isinstance(value, Broken)]
        )
        _fail("PL101", f"`{name.text}` is not a param, flag, dim or loop name", name.span, known)
    value = scope[name.text]
    if isinstance(value, Broken):
        raise Silenced
    return value


_TRUTHS = {
    **dict.fromkeys(("true", "yes", "on"), "write `true`"),
    **dict.fromkeys(("false", "no", "off"), "write `false`"),
}

_KINDS = {bool: "true or false", int: "a whole number", str: "a text", list: "a list"}
_FORMS = {bool: "as `n > 1`", int: "as `2`", str: 'as `"text"`', list: "as `[1, 2]`"}


def _of_kind(expression: syntax.Expression, value: Value, wanted: type) -> Any:
    if type(value) is not wanted:
        found = f"{kind(value)} ({written(value)})"
        help = f"write one, {_FORMS[wanted]}: nothing is turned into another kind"
        _fail("PL102", f"{_KINDS[wanted]} should stand here, not {found}", expression.span, help)
    return value


def _number(expression: syntax.Expression, value: Value) -> int | float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        found = f"{kind(value)} ({written(value)})"
        help = "write one, as `2` or `0.5`: nothing is turned into another kind"
        _fail("PL102", f"a number should stand here, not {found}", expression.span, help)
    return value


def _measure(node: syntax.Quantity) -> Measure:
    counts, each = UNITS[node.unit]
    amount = node.value * each
    if amount > LARGEST:
        _fail("PL103", "a time or a size has at most 63 bits", node.span)
    if amount != int(amount):
        help = f"write it in a smaller unit, or as a whole number of {counts}"
        _fail("PL103", f"`{node.span.text}` is no whole number of {counts}", node.span, help)
    return Measure(int(amount), counts)


def _unary(node: syntax.Unary, scope: Mapping[str, Value | Broken]) -> Value:
    if node.operator == "not":
        return not truth(node.operand, scope)
    value = evaluate(node.operand, scope)
    if isinstance(value, Measure):
        return Measure(-value.amount, value.counts)
    return -_number(node.operand, value)


_ARITHMETIC: dict[str, Callable] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "//": operator.floordiv,
    "/": operator.truediv,
    "%": operator.mod,
}
_ORDERS: dict[str, Callable] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def _binary(node: syntax.Binary, scope: Mapping[str, Value | Broken]) -> Value:
    name = node.operator
    if name in ("and", "or"):
        left = truth(node.left, scope)
        return left if left == (name == "or") else truth(node.right, scope)
    left, right = evaluate(node.left, scope), evaluate(node.right, scope)
    if name == "in":
        _of_kind(node.right, right, list)
        return any(_same(left, item) for item in right)  # type: ignore[union-attr]
    if name in ("==", "!="):
        if _family(left) != _family(right):
            message = f"{kind(left)} is never equal to {kind(right)}"
            _fail("PL102", message, node.span, "compare values of one kind")
        return _same(left, right) == (name == "==")
    if isinstance(left, Measure) or isinstance(right, Measure):
        return _with_measures(node, left, right)
    if name in _ORDERS:
        return _ORDERS[name](_number(node.left, left), _number(node.right, right))
    return _arithmetic(node, _number(node.left, left), _number(node.right, right))


def _with_measures(node: syntax.Binary, left: Value, right: Value) -> Value:
    """What times and sizes allow: sums and ratios of one kind, multiples and parts."""
    name = node.operator
    if isinstance(left, Measure) and isinstance(right, Measure) and left.counts == right.counts:
        if name in _ORDERS:
            return _ORDERS[name](left.amount, right.amount)
        if name in ("+", "-", "%"):
            return Measure(int(_arithmetic(node, left.amount, right.amount)), left.counts)
        if name in ("/", "//"):
            return _arithmetic(node, left.amount, right.amount)
    elif name == "*" and isinstance(left, Measure) and type(right) is int:
        return Measure(int(_arithmetic(node, left.amount, right)), left.counts)
    elif name == "*" and isinstance(right, Measure) and type(left) is int:
        return Measure(int(_arithmetic(node, left, right.amount)), right.counts)
    elif name == "//" and isinstance(left, Measure) and type(right) is int:
        return Measure(int(_arithmetic(node, left.amount, right)), left.counts)
    message = f"`{name}` has no meaning between {kind(left)} and {kind(right)}"
    help = "times and sizes add to their own kind, and take whole multiples and parts"
    _fail("PL102", message, node.span, help)


def _arithmetic(node: syntax.Binary, a: int | float, b: int | float) -> int | float:
    name = node.operator
    if name in ("/", "//", "%") and b == 0:
        _fail(
            "PL103", f"`{node.span.text}` divides by zero", node.right.span, "a divisor is never 0"
        )
    try:
        result = _ARITHMETIC[name](a, b)
    except OverflowError:
        result = LARGEST + 1
    if abs(result) > LARGEST:
        _fail("PL103", "the result has more than 63 bits", node.span)
    return result


def _family(value: Value) -> str:
    return "number" if type(value) in (int, float) else kind(value)


def _same(left: Value, right: Value) -> bool:
    return _family(left) == _family(right) and left == right


def _item(value: Value, name: syntax.Name, place: syntax.Expression, index: Value) -> Value:
    if not isinstance(value, list):
        _fail("PL102", f"`{name.text}` is {kind(value)}, so it has no items", name.span)
    _of_kind(place, index, int)
    if not 0 <= index < len(value):  # type: ignore[operator]
        message = f"`{name.text}` has {len(value)} items, counted from 0; there is no item {index}"
        _fail("PL103", message, place.span)
    return value[index]  # type: ignore[index]


def _function(node: syntax.Function, scope: Mapping[str, Value | Broken]) -> Value:
    name = node.name.text
    if name == "env":
        help = 'write `flag NAME = env("VARIABLE", DEFAULT)`'
        _fail("PL102", "`env` stands only as the whole value of a flag", node.span, help)
    if name not in _FUNCTIONS:
        known = did_you_mean(name, _FUNCTIONS)
        _fail("PL101", f"`{name}` is not a function", node.name.span, known)
    values = [evaluate(argument, scope) for argument in node.arguments]
    return _FUNCTIONS[name](node, values)


def _length(node: syntax.Function, values: list[Value]) -> Value:
    _count(node, 1)
    _of_kind(node.arguments[0], values[0], list)
    return len(values[0])  # type: ignore[arg-type]


def _ceil_div(node: syntax.Function, values: list[Value]) -> Value:
    _count(node, 2)
    a, b = (_of_kind(n, v, int) for n, v in zip(node.arguments, values, strict=True))
    if b == 0:
        _fail(
            "PL103",
            f"`{node.span.text}` divides by zero",
            node.arguments[1].span,
            "a divisor is never 0",
        )
    return -(-a // b)  # type: ignore[operator]


def _extreme(pick: Callable) -> Callable[[syntax.Function, list[Value]], Value]:
    def function(node: syntax.Function, values: list[Value]) -> Value:
        if len(values) == 1 and isinstance(values[0], list):
            values, places = values[0], [node.arguments[0]] * len(values[0])
        else:
            places = list(node.arguments)
        if not values:
            _fail("PL102", f"`{node.name.text}` needs at least one number", node.span)
        first = values[0]
        if isinstance(first, Measure):
            amounts = [
                _of_counts(place, value, first) for place, value in zip(places, values, strict=True)
            ]
            return Measure(pick(amounts), first.counts)
        return pick(_number(place, value) for place, value in zip(places, values, strict=True))

    return function


def _of_counts(place: syntax.Expression, value: Value, first: Measure) -> int:
    if not isinstance(value, Measure) or value.counts != first.counts:
        message = f"{kind(first)} should stand here, not {kind(value)} ({written(value)})"
        _fail("PL102", message, place.span)
    return value.amount


def _count(node: syntax.Function, wanted: int) -> None:
    if len(node.arguments) != wanted:
        plural = "" if wanted == 1 else "s"
        message = f"`{node.name.text}` takes {wanted} value{plural}, not {len(node.arguments)}"
        _fail("PL102", message, node.span)


_FUNCTIONS: dict[str, Callable[[syntax.Function, list[Value]], Value]] = {
    "len": _length,
    "ceil_div": _ceil_div,
    "min": _extreme(min),
    "max": _extreme(max),
}
