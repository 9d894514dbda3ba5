"""Text to syntax.

Lark builds the tables from `grammar.lark`; the methods of `_Build`, one a rule, make the nodes while
it parses, so no tree is built in between. Tables are kept for the next run (`tables.py`).

Limits, each an error of its own: 1,048,576 characters, nesting 100 deep.
"""

from __future__ import annotations

import threading
from typing import Any, NoReturn

from lark import Token, Transformer, UnexpectedCharacters, UnexpectedToken, v_args

from plait.dsl import syntax
from plait.dsl.diagnostic import Diagnostic, Label, SpecError, end_of
from plait.dsl.span import Source, Span
from plait.dsl.suggest import nearest
from plait.dsl.tables import load_parser
from plait.dsl.words import FORMS, RESERVED

MAX_CHARACTERS = 1 << 20
MAX_NESTING = 100
VERSION = 1


def parse(source: Source) -> syntax.File:
    """The file's syntax. Raises SpecError for the first mistake."""
    return _parse(source, "file")


def parse_expression(source: Source, at: int = 0) -> syntax.Expression:
    """The syntax of the one expression that a text holds from `at` on. Raises SpecError."""
    return _parse(source, "expression", at)


def _parse(source: Source, start: str, at: int = 0) -> Any:
    if len(source.text) > MAX_CHARACTERS:
        limit = f"the text has {len(source.text):,} characters; the most is {MAX_CHARACTERS:,}"
        _fail("PL002", limit, Span(source, 0, 0), help="split the file")
    with _LOCK:
        build, parser = _shared()
        build.begin(source)
        try:
            # Blanks for what is skipped, so that every offset is one of the source.
            return parser.parse(" " * at + source.text[at:], start=start)
        except UnexpectedToken as error:
            raise _unexpected_token(source, error) from None
        except UnexpectedCharacters as error:
            raise _unexpected_character(source, error) from None


_LOCK = threading.Lock()
_PARSER: tuple[Any, Any] | None = None


def _shared() -> tuple[Any, Any]:
    """The one builder and its parser; `_LOCK` is held by whoever uses them."""
    global _PARSER
    if _PARSER is None:
        build = _Build()
        _PARSER = build, load_parser(build)
    return _PARSER


def _fail(code: str, message: str, span: Span, *, label: str = "", help: str = "") -> NoReturn:
    raise SpecError([Diagnostic(code, message, span, label=label, help=help)])


# What a syntax error says

_SHOWN = {
    "NAME": "a name",
    "NUMBER": "a number",
    "STRING": 'a "text"',
    "UNDERSCORE": "`_`",
    "COMMA": "`,`",
    "COLON": "`:`",
    "EQUAL": "`=`",
    "DOT": "`.`",
    "__ANON_0": "`..`",
    "LBRACE": "`{`",
    "RBRACE": "`}`",
    "LSQUARE": "`[`",
    "RSQUARE": "`]`",
    "LPAREN": "`(`",
    "RPAREN": "`)`",
    "$END": "the end of the text",
}
_GROUPS = (
    ("a statement", "PARAM FLAG REQUIRE DIM STREAM BUFFER PHASE FORK JOIN CAPTURE FOR WHEN"),
    ("a value", "NAME NUMBER STRING LPAREN TRUE FALSE LSQUARE MINUS NOT"),
    ("an operator", "PLUS STAR SLASH SLASHES PERCENT MINUS OR AND _IN"),
)
"""Terminals that are said in one word where all of the first four are among the expected."""


def _expected(terminals: set[str]) -> str:
    """A set of terminals in words, the long ones folded."""
    rest = set(terminals)
    if len(rest) > 1:
        rest.discard("$END")
    words = []
    for name, group in _GROUPS:
        members = group.split()
        if rest.issuperset(members[:4]):
            rest -= {*members, *(_COMPARISONS if name == "an operator" else ())}
            words.append(name)
    words += sorted(_SHOWN.get(terminal, f"`{_keyword(terminal)}`") for terminal in rest)
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"


def _keyword(terminal: str) -> str:
    return terminal.lower().lstrip("_")


_COMPARISONS = ("MORETHAN", "LESSTHAN", "__ANON_1", "__ANON_2", "__ANON_3", "__ANON_4")


def _unexpected_token(source: Source, error: UnexpectedToken) -> SpecError:
    token = error.token
    at_end = token.type == "$END"
    span = end_of(source) if at_end else Span(source, token.start_pos or 0, token.end_pos or 0)
    found = "the text ends" if at_end else f"found `{token}`"
    written, opened = _being_written(error)
    expected = error.accepts or error.expected
    message = f"{found} where {_expected(expected)} should stand"
    if written:
        message += f", in a `{written}`"
    labels = []
    if at_end and opened is not None:
        brace = Span(source, opened.start_pos or 0, opened.end_pos or 0)
        labels.append(Label(brace, f"this `{opened}` is not closed"))
    help = f"one valid form: {FORMS[written]}" if written in FORMS else ""
    if token.type == "NAME" and (meant := nearest(token, map(_keyword, expected))):
        help = f"did you mean `{meant}`?"
    if token.type.lower() in RESERVED and "NAME" in expected:
        help = f"`{token}` is a reserved word, so it cannot be a name"
    diagnostic = Diagnostic("PL001", message, span, labels=tuple(labels), help=help)
    return SpecError([diagnostic])


def _being_written(error: UnexpectedToken) -> tuple[str, Token | None]:
    """The construct that was open at the mistake, and its last bracket that nothing closed."""
    written, opened = "", None
    stack = error.interactive_parser.parser_state.value_stack if error.interactive_parser else []
    for value in reversed(stack):
        if not isinstance(value, Token):
            continue
        if opened is None and value.type in ("LBRACE", "LSQUARE", "LPAREN"):
            opened = value
        if value.type == "RBRACE":
            break  # what stands before it is whole
        if str(value) in FORMS and not written:
            written = str(value)
    return written, opened


def _unexpected_character(source: Source, error: UnexpectedCharacters) -> SpecError:
    at = error.pos_in_stream or 0
    character = source.text[at]
    help = ""
    if character == '"':
        message, help = "this text has no end", 'close it with `"` on the same line'
    else:
        message = f"{character!r} means nothing here"
    return SpecError([Diagnostic("PL001", message, Span(source, at, at + 1), help=help)])


# Syntax from rules


def _start(value: Any) -> int:
    return (value.start_pos or 0) if isinstance(value, Token) else value.span.start


def _end(value: Any) -> int:
    return (value.end_pos or 0) if isinstance(value, Token) else value.span.end


@v_args(inline=True)
class _Build(Transformer):
    """One method a grammar rule, called with the rule's parts as it is reduced."""

    def __init__(self) -> None:
        super().__init__()
        self.source = Source("", "")
        self.depths: dict[int, int] = {}

    def begin(self, source: Source) -> None:
        self.source = source
        self.depths = {}

    def span(self, first: Any, last: Any) -> Span:
        return Span(self.source, _start(first), _end(last))

    def nested(self, node: Any, *parts: Any) -> Any:
        """The node, with its depth noted and bounded: later passes recurse over it."""
        depth = 1 + max((self.depths.get(id(part), 0) for part in parts), default=0)
        if depth > MAX_NESTING:
            _fail("PL002", f"nested more than {MAX_NESTING} deep", node.span, help="name a part")
        self.depths[id(node)] = depth
        return node

    # Files

    def file(self, *parts: Any) -> syntax.File:
        version = VERSION
        for part in parts:
            if isinstance(part, syntax.Number):
                version = int(part.value)
                if part.value != VERSION:
                    message = (
                        f"this file says spec {part.value}; the language read here is {VERSION}"
                    )
                    _fail("PL003", message, part.span, help=f"write `spec {VERSION}`")
        return syntax.File(
            Span(self.source, 0, len(self.source.text)),
            version,
            tuple(part for part in parts if isinstance(part, syntax.Pipeline)),
            tuple(part for part in parts if isinstance(part, syntax.Variant)),
        )

    def version(self, word: Token, number: Token) -> syntax.Number:
        return syntax.Number(self.span(word, number), _number(number))

    def pipeline(self, word: Token, name: syntax.Name, block: _Block) -> syntax.Pipeline:
        return syntax.Pipeline(self.span(word, block), name, block.statements)

    def variant(self, word: Token, name: syntax.Name, of: syntax.Name, *rest: Any) -> Any:
        return syntax.Variant(self.span(word, rest[-1]), name, of, rest[:-1])

    def setting(self, word: Token, name: syntax.Name, value: Any) -> syntax.Setting:
        return syntax.Setting(self.span(word, value), name, value)

    def block(self, *parts: Any) -> _Block:
        *statements, brace = parts
        return self.nested(_Block(self.span(brace, brace), tuple(statements)), *statements)

    # Declarations

    def param(self, word: Token, name: syntax.Name, value: Any) -> syntax.Param:
        return syntax.Param(self.span(word, value), name, value)

    def flag(self, word: Token, name: syntax.Name, value: Any) -> syntax.Flag:
        return syntax.Flag(self.span(word, value), name, value)

    def require(self, word: Token, condition: Any, reason: Any = None) -> syntax.Require:
        return syntax.Require(self.span(word, reason or condition), condition, reason)

    def dim(self, word: Token, name: syntax.Name, sizes: Any) -> syntax.Dim:
        return syntax.Dim(self.span(word, sizes), name, sizes)

    def stream(self, word: Token, name: syntax.Name, *rest: Any) -> syntax.Stream:
        kind = next((part for part in rest if isinstance(part, syntax.Name)), None)
        choice = next((part for part in rest if isinstance(part, dict)), {})
        last = choice.get("otherwise") or choice.get("alias") or kind or name
        return syntax.Stream(self.span(word, last), name, kind, **choice)

    def alias(self, name: syntax.Name) -> dict[str, Any]:
        return {"alias": name}

    def alias_if(self, name: syntax.Name, condition: Any, otherwise: syntax.Name) -> dict[str, Any]:
        return {"alias": name, "condition": condition, "otherwise": otherwise}

    def own_if(self, condition: Any, otherwise: syntax.Name) -> dict[str, Any]:
        return {"condition": condition, "otherwise": otherwise}

    def buffer(self, word: Token, name: syntax.Name, dtype: syntax.Name, *rest: Any) -> Any:
        shape = rest[0] if rest and isinstance(rest[0], _Listed) else None
        attributes = rest[1:] if shape else rest
        sizes = shape.items if shape else None
        last = rest[-1] if rest else dtype
        return syntax.Buffer(self.span(word, last), name, dtype, sizes, attributes)

    def shape(self, *parts: Any) -> _Listed:
        return _Listed(self.span(parts[0], parts[-1]), parts[:-1])

    def flag_attribute(self, name: syntax.Name) -> syntax.Attribute:
        return syntax.Attribute(name.span, name)

    def counted_attribute(self, name: syntax.Name, number: Token) -> syntax.Attribute:
        return syntax.Attribute(self.span(name, number), name, number=self.whole(number))

    def place_attribute(self, place: syntax.Name) -> syntax.Attribute:
        return syntax.Attribute(place.span, syntax.Name(place.span, "on"), place=place)

    # The round

    def phase(self, word: Token, label: Any, stream: syntax.Name, *rest: Any) -> syntax.Phase:
        *attributes, clauses = rest
        span = self.span(word, clauses)
        return syntax.Phase(span, label, stream, tuple(attributes), clauses.items)

    def clauses(self, *parts: Any) -> _Listed:
        *clauses, brace = parts
        return self.nested(_Listed(self.span(brace, brace), tuple(clauses)), *clauses)

    def accesses(self, word: Token, *items: syntax.Access) -> syntax.Accesses:
        return syntax.Accesses(self.span(word, items[-1]), str(word), items)  # type: ignore[arg-type]

    def rows(self, word: Token, count: Any) -> syntax.Rows:
        return syntax.Rows(self.span(word, count), count)

    def clause_when(self, word: Token, condition: Any, clauses: Any) -> syntax.ClauseWhen:
        node = syntax.ClauseWhen(self.span(word, clauses), condition, clauses.items)
        return self.nested(node, clauses)

    def access(self, *parts: Any) -> syntax.Access:
        names = [part for part in parts if isinstance(part, syntax.Name)]
        region = next((part for part in parts if isinstance(part, _Listed)), None)
        return syntax.Access(
            self.span(parts[0], parts[-1]),
            names[0],
            next((part.rounds for part in parts if isinstance(part, _Prev)), 0),
            region.items if region else None,
            names[1] if len(names) > 1 else None,
        )

    def prev(self, word: Token, number: Token | None = None) -> _Prev:
        rounds = 1 if number is None else self.whole(number)
        if rounds < 1:
            _fail("PL004", "`prev` counts rounds from 1", self.span(word, number or word))
        return _Prev(self.span(word, number or word), rounds)

    def region(self, *parts: Any) -> _Listed:
        return _Listed(self.span(parts[0], parts[-1]), parts[:-1])

    def axis_range(self, first: Any, last: Any) -> syntax.Range:
        return syntax.Range(self.span(first, last), first, last)

    def axis_whole(self, word: Token) -> syntax.Whole:
        return syntax.Whole(self.span(word, word))

    def fork(self, word: Token, stream: syntax.Name, point: syntax.Point) -> syntax.Fork:
        return syntax.Fork(self.span(word, point), stream, point)

    def join(self, word: Token, point: syntax.Point, into: syntax.Name) -> syntax.Join:
        return syntax.Join(self.span(word, into), point, into)

    def point(self, *parts: Any) -> syntax.Point:
        return syntax.Point(
            self.span(parts[0], parts[-1]),
            next(part for part in parts if isinstance(part, syntax.Label)),
            next((part.rounds for part in parts if isinstance(part, _Prev)), 0),
            next((part for part in parts if isinstance(part, syntax.Name)), None),
        )

    def member(self, name: syntax.Name) -> syntax.Name:
        return name

    def capture(self, word: Token, label: Any, stream: syntax.Name, *rest: Any) -> Any:
        _, rows, *condition, block = rest
        span = self.span(word, block)
        when = condition[0] if condition else None
        node = syntax.Capture(span, label, stream, rows, when, block.statements)
        return self.nested(node, block)

    def capture_when(self, word: Token, condition: Any) -> Any:
        return condition

    def loop(self, word: Token, name: syntax.Name, first: Any, last: Any, block: _Block) -> Any:
        node = syntax.For(self.span(word, block), name, first, last, block.statements)
        return self.nested(node, block)

    def condition(self, word: Token, condition: Any, *blocks: _Block) -> syntax.When:
        last = blocks[-1]
        bodies = [block.statements for block in blocks]
        node = syntax.When(self.span(word, last), condition, *bodies)
        return self.nested(node, *blocks)

    def else_when(self, when: syntax.When) -> _Block:
        return self.nested(_Block(when.span, (when,)), when)

    def label(self, name: syntax.Name, index: Any = None) -> syntax.Label:
        span = self.span(name, index or name)
        return syntax.Label(span, name, index.items[0] if index else None)

    def index(self, value: Any, bracket: Token) -> _Listed:
        return _Listed(self.span(value, bracket), (value,))

    # Expressions

    def binary(self, left: Any, operator: Any, right: Any) -> syntax.Binary:
        node = syntax.Binary(self.span(left, right), str(operator), left, right)
        return self.nested(node, left, right)

    def comparator(self, token: Token) -> Token:
        return token

    def unary(self, operator: Token, operand: Any) -> syntax.Unary:
        node = syntax.Unary(self.span(operator, operand), str(operator), operand)
        return self.nested(node, operand)

    def number(self, token: Token) -> syntax.Number:
        return syntax.Number(self.span(token, token), _number(token))

    def string(self, token: Token) -> syntax.Text:
        return syntax.Text(self.span(token, token), str(token)[1:-1])

    def truth(self, token: Token) -> syntax.Truth:
        return syntax.Truth(self.span(token, token), token == "true")

    def name(self, token: Token) -> syntax.Name:
        if token in RESERVED:
            span = self.span(token, token)
            message = f"`{token}` is a reserved word, so it cannot be a name"
            _fail("PL001", message, span, help=f"another name, such as `{token}_`, will do")
        return syntax.Name(self.span(token, token), str(token))

    def name_expression(self, name: syntax.Name) -> syntax.Reference:
        return syntax.Reference(name.span, name)

    def function(self, name: syntax.Name, *parts: Any) -> syntax.Function:
        *arguments, bracket = parts
        node = syntax.Function(self.span(name, bracket), name, tuple(arguments))
        return self.nested(node, *arguments)

    def item(self, name: syntax.Name, index: _Listed) -> syntax.Item:
        return self.nested(syntax.Item(self.span(name, index), name, index.items[0]), *index.items)

    def list_expression(self, *parts: Any) -> syntax.Sequence:
        bracket, *items, end = parts
        return self.nested(syntax.Sequence(self.span(bracket, end), tuple(items)), *items)

    def parenthesised(self, bracket: Token, inner: Any, end: Token) -> Any:
        return self.nested(inner, inner)

    def whole(self, token: Token) -> int:
        value = _number(token)
        if not isinstance(value, int):
            _fail("PL004", f"`{token}` stands where a whole number should", self.span(token, token))
        return value


def _number(token: Token) -> int | float:
    return float(token) if "." in token else int(token)


class _Listed:
    """A bracketed list between two rules; never part of the syntax."""

    def __init__(self, span: Span, items: tuple[Any, ...]):
        self.span = span
        self.items = items


class _Block:
    def __init__(self, span: Span, statements: tuple[syntax.Statement, ...]):
        self.span = span
        self.statements = statements


class _Prev:
    def __init__(self, span: Span, rounds: int):
        self.span = span
        self.rounds = rounds
