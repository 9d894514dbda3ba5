"""Sizes that depend on dims: what they are written as, and how much of them is live at least.

A size is a number wherever it is used; beside it stands how it comes about, since rows that only pad a
bucket are judged by the dim that they are rows of.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterator, Mapping

from plait.dsl import syntax
from plait.dsl.diagnostic import Diagnostic, SpecError
from plait.dsl.record import Record
from plait.dsl.values import Broken, Silenced, Value, evaluate, whole

Values = Mapping[str, "Value | Broken"]


class Extent(Record):
    """A number at a bucket, and at other sizes of the dims that it depends on."""

    text: str
    """As it is written where it got its name."""
    dims: frozenset[str]
    size: int | float
    least: int | float
    """At the smallest sizes that are padded to this bucket."""
    more: int | float
    """With each dim one larger."""
    last: bool
    """Whether each dim is at its largest entry."""
    fewest: tuple[tuple[str, int], ...]
    """Each dim at its smallest."""
    cut: tuple[int, int] | None = None
    """What is divided here, and by what, where that leaves a rest."""
    line: tuple[str, int, int] | None = None
    """The dim, and what to multiply it by and to add, where that is all that it is."""

    @property
    def padded(self) -> bool:
        return self.least < self.size

    def times(self, other: Extent) -> bool:
        """Whether it is some whole number of times the other, whatever the bucket."""
        proportional = self.size * other.more == self.more * other.size
        return proportional and self.dims == other.dims and not self.size % other.size


def of_dim(node: syntax.Dim, size: int, values: Values) -> Extent:
    """The extent of a dim at one of its entries."""
    found = evaluate(node.sizes, values)
    # A param that is declared twice is two things, which is told of.
    entries = found if isinstance(found, list) else []
    sizes = [entry for entry in entries if isinstance(entry, int)] or [size]
    below = max((entry for entry in sizes if entry < size), default=0)
    voted = node.agreement is not None and not node.agreement.same
    least = 0 if voted else below + 1
    name = node.name.text
    last = size == sizes[-1]
    fewest = ((name, least),)
    return Extent(name, frozenset((name,)), size, least, size + 1, last, fewest, line=(name, 1, 0))


def extent(
    expression: syntax.Expression, values: Values, sized: Mapping[str, Extent]
) -> Extent | None:
    """How an expression depends on dims, by the names that do; None if it does not, or is no number."""
    if not sized or isinstance(expression, syntax.Number):
        return None
    if isinstance(expression, syntax.Reference):
        return sized.get(expression.name.text)
    used = {name: sized[name] for name in _names(expression) if name in sized}
    if not used:
        return None
    try:
        size, least, more = (
            evaluate(expression, ChainMap(changed, values))  # type: ignore[arg-type]
            for changed in (
                {},
                {name: one.least for name, one in used.items()},
                {name: one.more for name, one in used.items()},
            )
        )
    except (SpecError, Silenced):
        return None  # at another size it has no value: nothing is known beside this one
    if type(size) not in (int, float) or type(least) not in (int, float):
        return None
    dims = frozenset(dim for one in used.values() for dim in one.dims)
    last = all(one.last for one in used.values())
    fewest = tuple(sorted({dim for one in used.values() for dim in one.fewest}))
    cut = _cut(expression, values)
    line = _line(expression, values, sized)
    line = line if isinstance(line, tuple) else None
    return Extent(expression.span.text, dims, size, least, more, last, fewest, cut, line)  # type: ignore[arg-type]


def count(expression: syntax.Expression, values: Values, known: Extent | None, where: str) -> int:
    """A size or number of rows: whole, also where `/` gave it. Raises SpecError, Silenced."""
    value = evaluate(expression, values)
    if type(value) is not float:
        return whole(expression, values)
    if value.is_integer():
        return int(value)
    cut = known.cut if known else _cut(expression, values)
    message = f"`{expression.span.text}` is no whole number{where}"
    raise SpecError([Diagnostic("PL606", message, expression.span, help=mend(cut))])


def mend(cut: tuple[int, int] | None) -> str:
    """What to write so that nothing is left over."""
    if cut is None:
        return "take sizes that divide"
    amount, by = cut
    below, above = amount - amount % by, amount - amount % by + by
    either = f"{below} or {above}" if below else f"{above}"
    return f"{amount} is not a multiple of {by}: take {either}, or list sizes in units of {by}"


def _cut(expression: syntax.Expression, values: Values) -> tuple[int, int] | None:
    if not isinstance(expression, syntax.Binary) or expression.operator not in ("/", "//"):
        return None
    try:
        amount, by = evaluate(expression.left, values), evaluate(expression.right, values)
    except (SpecError, Silenced):
        return None
    if type(amount) is int and type(by) is int and by > 0 and amount % by:
        return amount, by
    return None


def _line(
    node: syntax.Expression, values: Values, sized: Mapping[str, Extent]
) -> tuple[str, int, int] | int | None:
    """A dim times a number plus a number, or a number; None for anything else."""
    if not any(name in sized for name in _names(node)):
        value = evaluate(node, values)
        return value if type(value) is int else None
    if isinstance(node, syntax.Reference):
        return sized[node.name.text].line
    if not isinstance(node, syntax.Binary):
        return None
    left, right = (_line(one, values, sized) for one in (node.left, node.right))
    match node.operator, left, right:
        case ("*", (dim, by, plus), int(number)) | ("*", int(number), (dim, by, plus)):
            return dim, by * number, plus * number
        case ("+", (dim, by, plus), int(number)) | ("+", int(number), (dim, by, plus)):
            return dim, by, plus + number
        case "-", (dim, by, plus), int(number):
            return dim, by, plus - number
    return None


def _names(node: syntax.Expression) -> Iterator[str]:
    match node:
        case syntax.Reference(name=name):
            yield name.text
        case syntax.Item(name=name, index=index):
            yield name.text
            yield from _names(index)
        case syntax.Function(arguments=parts) | syntax.Sequence(items=parts):
            for part in parts:
                yield from _names(part)
        case syntax.Unary(operand=operand):
            yield from _names(operand)
        case syntax.Binary(left=left, right=right):
            yield from _names(left)
            yield from _names(right)
