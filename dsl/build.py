"""Syntax from the rules of the grammar: one method a rule, called as the rule is reduced.

A mistake that does not keep the text from being read on is noted in `mistakes`.
"""

from __future__ import annotations

from typing import Any

from lark import Token, Transformer, v_args

from plait.dsl import syntax
from plait.dsl.diagnostic import Diagnostic, SpecError
from plait.dsl.span import Source, Span
from plait.dsl.words import RESERVED, SILENT

MAX_NESTING = 100
MOST_ROUNDS_BACK = 64
LARGEST = (1 << 63) - 1
"""What a whole number may be."""
VERSION = 1
LONGEST_NAME = 100


class Listed:
    """A bracketed part between two rules; never part of the syntax."""

    __slots__ = ("depth", "items", "span")

    def __init__(self, span: Span, items: tuple[Any, ...]):
        self.span = span
        self.items = items
        self.depth = 0


class Prev:
    __slots__ = ("rounds", "span")

    def __init__(self, span: Span, rounds: int):
        self.span = span
        self.rounds = rounds


_WORDS = {word: word.upper() for word in RESERVED} | {word: f"_{word.upper()}" for word in SILENT}


def name_or_word(token: Token) -> Token:
    """A reserved word is no name anywhere: a statement without its end is seen where the next begins."""
    if (word := _WORDS.get(token)) is not None:
        token.type = word
    return token


def _start(value: Any) -> int:
    return (value.start_pos or 0) if isinstance(value, Token) else value.span.start


def _end(value: Any) -> int:
    return (value.end_pos or 0) if isinstance(value, Token) else value.span.end


def _number(token: str) -> int | float:
    if len(token) > 40:  # more than any number may have, and int() has a limit of its own
        return LARGEST + 1
    return float(token) if "." in token else int(token)


@v_args(inline=True)
class Build(Transformer):
    # What is not called for a rule begins with `_`: lark would wrap it anew at every call.

    def __init__(self) -> None:
        super().__init__()
        self.source = Source("", "")
        self.mistakes: list[Diagnostic] = []
        self.depths: dict[int, int] = {}

    def begin(self, source: Source) -> None:
        self.source = source
        self.mistakes = []
        self.depths = {}

    def _span(self, first: Any, last: Any) -> Span:
        return Span(self.source, _start(first), _end(last))

    def _note(self, code: str, message: str, span: Span, help: str = "") -> None:
        self.mistakes.append(Diagnostic(code, message, span, help=help))

    def _nested(self, node: Any, *parts: Any) -> Any:
        """The node, with its depth noted and bounded: later passes recurse over it."""
        depth = 1 + max((self._depth(part) for part in parts), default=0)
        if depth > MAX_NESTING:
            message = f"nested more than {MAX_NESTING} deep"
            raise SpecError([Diagnostic("PL002", message, node.span, help="name a part")])
        if isinstance(node, Listed):
            node.depth = depth
        else:
            self.depths[id(node)] = depth
        return node

    def _depth(self, part: Any) -> int:
        # A node lives as long as its file, so its id is its own; what is only passed on does not.
        return part.depth if isinstance(part, Listed) else self.depths.get(id(part), 0)

    # Files

    def file(self, *parts: Any) -> syntax.File:
        version = VERSION
        for part in parts:
            if isinstance(part, syntax.Number):
                version = int(part.value)
                if part.value != VERSION:
                    found = f"this file says spec {part.value}"
                    message = f"{found}; the language read here is {VERSION}"
                    self._note("PL003", message, part.span, f"write `spec {VERSION}`")
        return syntax.File(
            Span(self.source, 0, len(self.source.text)),
            version,
            tuple(part for part in parts if isinstance(part, syntax.Pipeline)),
            tuple(part for part in parts if isinstance(part, syntax.Variant)),
            tuple(part for part in parts if isinstance(part, syntax.Use)),
            tuple(part for part in parts if isinstance(part, syntax.Module)),
        )

    def version(self, word: Token, number: Token) -> syntax.Number:
        return syntax.Number(self._span(word, number), _number(number))

    def use(self, word: Token, source: Any, alias: syntax.Name | None = None) -> syntax.Use:
        return syntax.Use(self._span(word, alias or source), source, alias)

    def pipeline(self, word: Token, name: syntax.Name, block: Listed) -> syntax.Pipeline:
        return syntax.Pipeline(self._span(word, block), name, block.items)

    def module(self, word: Token, name: syntax.Name, *rest: Any) -> syntax.Module:
        *formals, block = rest
        return syntax.Module(self._span(word, block), name, tuple(formals), block.items)

    def stream_formal(self, word: Token, name: syntax.Name) -> syntax.Formal:
        return syntax.Formal(self._span(word, name), "stream", name)

    def buffer_formal(self, word: Token, name: syntax.Name) -> syntax.Formal:
        return syntax.Formal(self._span(word, name), "buffer", name)

    def value_formal(self, name: syntax.Name, default: Any = None) -> syntax.Formal:
        return syntax.Formal(self._span(name, default or name), "value", name, default)

    def variant(self, word: Token, name: syntax.Name, of: syntax.Name, *rest: Any) -> Any:
        return syntax.Variant(self._span(word, rest[-1]), name, of, rest[:-1])

    def setting(self, word: Token, name: syntax.Name, value: Any) -> syntax.Setting:
        return syntax.Setting(self._span(word, value), name, value)

    def block(self, *parts: Any) -> Listed:
        *statements, brace = parts
        return self._nested(Listed(self._span(brace, brace), tuple(statements)), *statements)

    # Declarations

    def param(self, word: Token, name: syntax.Name, *rest: Any) -> syntax.Param:
        *choices, value = rest
        listed = choices[0].items[0] if choices else None
        return syntax.Param(self._span(word, value), name, value, listed)

    def choices(self, value: Any) -> Listed:
        return Listed(value.span, (value,))

    def flag(self, word: Token, name: syntax.Name, value: Any) -> syntax.Flag:
        return syntax.Flag(self._span(word, value), name, value)

    def require(self, word: Token, condition: Any, reason: Any = None) -> syntax.Require:
        return syntax.Require(self._span(word, reason or condition), condition, reason)

    def dim(self, word: Token, name: syntax.Name, sizes: Any, agreement: Any = None) -> syntax.Dim:
        return syntax.Dim(self._span(word, agreement or sizes), name, sizes, agreement)

    def guard(self, word: Token, name: syntax.Name, *rest: Any) -> syntax.Guard:
        agreement = next((part for part in rest if isinstance(part, syntax.Agreement)), None)
        condition, otherwise = next(
            (part.items for part in rest if isinstance(part, Listed)), (None, None)
        )
        span = self._span(word, rest[-1] if rest else name)
        return syntax.Guard(span, name, agreement, condition, otherwise)

    def guard_condition(self, condition: Any, otherwise: Any) -> Listed:
        return Listed(self._span(condition, otherwise), (condition, otherwise))

    def agreement(self, *parts: Any) -> syntax.Agreement:
        return syntax.Agreement(self._span(parts[0], parts[-1]), parts[-1], len(parts) > 1)

    def group(self, word: Token, name: syntax.Name, *rest: Any) -> syntax.Group:
        inside = next((part.items[0] for part in rest if isinstance(part, Listed)), None)
        size = next((part for part in rest if not isinstance(part, Listed)), None)
        return syntax.Group(self._span(word, rest[-1] if rest else name), name, size, inside)

    def group_inside(self, name: syntax.Name) -> Listed:
        return Listed(name.span, (name,))

    def pool(self, word: Token, name: syntax.Name, size: Any = None) -> syntax.Pool:
        return syntax.Pool(self._span(word, size or name), name, size)

    def assume(self, word: Token, *rest: Any) -> syntax.Assume:
        *accesses, reason = rest
        return syntax.Assume(self._span(word, reason), tuple(accesses), reason)

    def stream(self, word: Token, name: syntax.Name, *rest: Any) -> syntax.Stream:
        kind = next((part for part in rest if isinstance(part, syntax.Name)), None)
        choice = next((part for part in rest if isinstance(part, dict)), {})
        last = choice.get("otherwise") or choice.get("alias") or kind or name
        return syntax.Stream(self._span(word, last), name, kind, **choice)

    def alias(self, name: syntax.Name) -> dict[str, Any]:
        return {"alias": name}

    def alias_if(self, name: syntax.Name, condition: Any, otherwise: syntax.Name) -> dict[str, Any]:
        return {"alias": name, "condition": condition, "otherwise": otherwise}

    def own_if(self, condition: Any, otherwise: syntax.Name) -> dict[str, Any]:
        return {"condition": condition, "otherwise": otherwise}

    def buffer(self, word: Token, name: syntax.Name, dtype: syntax.Name, *rest: Any) -> Any:
        shape = rest[0] if rest and isinstance(rest[0], Listed) else None
        attributes = rest[1:] if shape else rest
        last = rest[-1] if rest else dtype
        sizes = shape.items if shape else None
        return syntax.Buffer(self._span(word, last), name, dtype, sizes, attributes)

    def shape(self, *parts: Any) -> Listed:
        return Listed(self._span(parts[0], parts[-1]), parts[:-1])

    def flag_attribute(self, name: syntax.Name) -> syntax.Attribute:
        return syntax.Attribute(name.span, name)

    def counted_attribute(
        self, name: syntax.Name, first: Token, last: Token | None = None
    ) -> syntax.Attribute:
        value = _number(first) if last is None else -_number(last)
        return syntax.Attribute(self._span(name, last or first), name, number=value)

    def place_attribute(self, place: syntax.Name) -> syntax.Attribute:
        return syntax.Attribute(place.span, syntax.Name(place.span, "on"), place=place)

    def pool_attribute(self, pool: syntax.Name) -> syntax.Attribute:
        return syntax.Attribute(pool.span, syntax.Name(pool.span, "in"), place=pool)

    # Phases

    def phase(self, word: Token, label: Any, stream: syntax.Name, *rest: Any) -> syntax.Phase:
        *attributes, clauses = rest
        span = self._span(word, clauses)
        launched = word.type == "LAUNCH"
        return syntax.Phase(span, label, stream, tuple(attributes), clauses.items, launched)

    launch = phase

    def awaiting(self, word: Token, point: syntax.Point, stream: syntax.Name) -> syntax.Await:
        return syntax.Await(self._span(word, stream), point, stream)

    def clauses(self, *parts: Any) -> Listed:
        *clauses, brace = parts
        return self._nested(Listed(self._span(brace, brace), tuple(clauses)), *clauses)

    def accesses(self, word: Token, *items: syntax.Access) -> syntax.Accesses:
        return syntax.Accesses(self._span(word, items[-1]), str(word), items)  # type: ignore[arg-type]

    def rows(self, word: Token, count: Any) -> syntax.Rows:
        return syntax.Rows(self._span(word, count), count)

    def collective(
        self, word: Token, kind: syntax.Name, group: syntax.Name, capacity: Any = None
    ) -> syntax.Collective:
        return syntax.Collective(self._span(word, capacity or group), kind, group, capacity)

    def capacity(self, value: Any) -> Any:
        return value

    def cost(self, word: Token, amount: Any) -> syntax.Cost:
        return syntax.Cost(self._span(word, amount), amount)

    def clause_when(self, word: Token, condition: Any, clauses: Any) -> syntax.ClauseWhen:
        node = syntax.ClauseWhen(self._span(word, clauses), condition, clauses.items)
        return self._nested(node, clauses)

    def access(self, *parts: Any) -> syntax.Access:
        rounds = parts[0].rounds if isinstance(parts[0], Prev) else 0
        path = next(part for part in parts if isinstance(part, Listed))
        argument = parts[-1] if isinstance(parts[-1], syntax.Name) else None
        name, region = path.items[-1]
        within = tuple(self.call_label(*element) for element in path.items[:-1])
        span = self._span(parts[0], parts[-1])
        items = region.items if region else None
        return syntax.Access(span, name, rounds, items, argument, within)

    def prev(self, word: Token, number: Token | None = None) -> Prev:
        rounds = 1 if number is None else _number(number)
        span = self._span(word, number or word)
        if not isinstance(rounds, int) or not 1 <= rounds <= MOST_ROUNDS_BACK:
            message = f"`prev` counts whole rounds, from 1 to {MOST_ROUNDS_BACK}"
            self._note("PL004", message, span, "write `prev`, or `prev 2`")
            rounds = 1
        return Prev(span, rounds)

    def path(self, *elements: Listed) -> Listed:
        items = tuple(element.items for element in elements)
        return Listed(self._span(elements[0], elements[-1]), items)

    def element(self, name: syntax.Name, region: Listed | None = None) -> Listed:
        return Listed(self._span(name, region or name), (name, region))

    def call_label(self, name: syntax.Name, region: Listed | None) -> syntax.Label:
        """A name with at most one index, as phases, captures and calls have."""
        if region is None:
            return syntax.Label(name.span, name)
        span, index = self._span(name, region), region.items[0]
        if len(region.items) > 1 or isinstance(index, syntax.Whole | syntax.Range):
            self._note("PL004", f"`{name.text}` takes one index here", region.span, "write one")
            return syntax.Label(span, name)
        return syntax.Label(span, name, index)

    def region(self, *parts: Any) -> Listed:
        return Listed(self._span(parts[0], parts[-1]), parts[:-1])

    def axis_range(self, first: Any, last: Any) -> syntax.Range:
        return syntax.Range(self._span(first, last), first, last)

    def axis_whole(self, word: Token) -> syntax.Whole:
        return syntax.Whole(self._span(word, word))

    # The round

    def fork(self, word: Token, stream: syntax.Name, point: syntax.Point) -> syntax.Fork:
        return syntax.Fork(self._span(word, point), stream, point)

    def join(self, word: Token, point: syntax.Point, into: syntax.Name) -> syntax.Join:
        return syntax.Join(self._span(word, into), point, into)

    def point(self, *parts: Any) -> syntax.Point:
        rounds = parts[0].rounds if isinstance(parts[0], Prev) else 0
        labels = tuple(self.call_label(*element) for element in parts[-1].items)
        return syntax.Point(self._span(parts[0], parts[-1]), labels, rounds)

    def capture(self, word: Token, label: Any, stream: syntax.Name, *rest: Any) -> Any:
        _, rows, *options, block = rest
        pool = next((part for part in options if isinstance(part, syntax.Name)), None)
        when = next((part.items[0] for part in options if isinstance(part, Listed)), None)
        span = self._span(word, block)
        node = syntax.Capture(span, label, stream, rows, when, block.items, pool)
        return self._nested(node, block)

    def capture_pool(self, name: syntax.Name) -> syntax.Name:
        return name

    def capture_when(self, word: Token, condition: Any) -> Listed:
        return Listed(condition.span, (condition,))

    def call(self, word: Token, callee: Listed, *rest: Any) -> syntax.Call:
        actuals = tuple(part for part in rest if isinstance(part, syntax.Actual))
        label = rest[-1] if isinstance(rest[-1], syntax.Label) else None
        return syntax.Call(self._span(word, rest[-1]), callee.items, actuals, label)

    def callee(self, first: syntax.Name, *rest: syntax.Name) -> Listed:
        return Listed(self._span(first, rest[-1] if rest else first), (first, *rest))

    def actual(self, name: syntax.Name, value: Any) -> syntax.Actual:
        return syntax.Actual(self._span(name, value), name, value)

    def interleave(self, word: Token, behind: Any, first: Any, second: Any, end: Token) -> Any:
        return syntax.Interleave(self._span(word, end), behind, first, second)

    def stage_end(self, word: Token) -> syntax.Yield:
        return syntax.Yield(self._span(word, word))

    def loop(self, word: Token, name: syntax.Name, first: Any, last: Any, block: Listed) -> Any:
        node = syntax.For(self._span(word, block), name, first, last, block.items)
        return self._nested(node, block)

    def condition(self, word: Token, condition: Any, *blocks: Listed) -> syntax.When:
        span = self._span(word, blocks[-1])
        node = syntax.When(span, condition, *(block.items for block in blocks))
        return self._nested(node, *blocks)

    def else_when(self, when: syntax.When) -> Listed:
        return self._nested(Listed(when.span, (when,)), when)

    def label(self, name: syntax.Name, index: Listed | None = None) -> syntax.Label:
        return syntax.Label(
            self._span(name, index or name), name, index.items[0] if index else None
        )

    def index(self, value: Any, bracket: Token) -> Listed:
        return Listed(self._span(value, bracket), (value,))

    # Expressions

    def binary(self, left: Any, operator: Any, right: Any) -> syntax.Binary:
        node = syntax.Binary(self._span(left, right), str(operator), left, right)
        return self._nested(node, left, right)

    def comparator(self, token: Token) -> Token:
        return token

    def unary(self, operator: Token, operand: Any) -> syntax.Unary:
        node = syntax.Unary(self._span(operator, operand), str(operator), operand)
        return self._nested(node, operand)

    def number(self, token: Token) -> syntax.Number:
        return syntax.Number(self._span(token, token), _number(token))

    def quantity(self, token: Token) -> syntax.Quantity:
        unit = token.lstrip("0123456789.")
        value = _number(token[: -len(unit)])
        return syntax.Quantity(self._span(token, token), value, unit)

    def string(self, token: Token) -> syntax.Text:
        return syntax.Text(self._span(token, token), str(token)[1:-1])

    def truth(self, token: Token) -> syntax.Truth:
        return syntax.Truth(self._span(token, token), token == "true")

    def name(self, token: Token) -> syntax.Name:
        if len(token) > LONGEST_NAME:
            message = f"a name has at most {LONGEST_NAME} characters, and this {len(token):,}"
            self._note("PL002", message, self._span(token, token), "choose a shorter one")
        return syntax.Name(self._span(token, token), str(token))

    def name_expression(self, name: syntax.Name) -> syntax.Reference:
        return syntax.Reference(name.span, name)

    def function(self, name: syntax.Name, *parts: Any) -> syntax.Function:
        *arguments, bracket = parts
        node = syntax.Function(self._span(name, bracket), name, tuple(arguments))
        return self._nested(node, *arguments)

    def item(self, name: syntax.Name, index: Listed) -> syntax.Item:
        return self._nested(
            syntax.Item(self._span(name, index), name, index.items[0]), *index.items
        )

    def list_expression(self, *parts: Any) -> syntax.Sequence:
        bracket, *items, end = parts
        return self._nested(syntax.Sequence(self._span(bracket, end), tuple(items)), *items)

    def parenthesised(self, bracket: Token, inner: Any, end: Token) -> Any:
        node = self._nested(inner.replace(span=self._span(bracket, end)), inner)
        self.depths.pop(id(inner), None)  # it is gone, and its id may be another's
        return node
