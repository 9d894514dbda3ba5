"""What a syntax error says: what was found, what should stand there, and one valid form."""

from __future__ import annotations

from lark import Token, UnexpectedCharacters, UnexpectedToken

from plait.dsl.diagnostic import Diagnostic, Label, end_of
from plait.dsl.span import Source, Span
from plait.dsl.suggest import nearest
from plait.dsl.words import FORMS, RESERVED, STATEMENTS


def mistake(source: Source, error: UnexpectedToken | UnexpectedCharacters) -> Diagnostic:
    """The finding for an error of the parser."""
    if isinstance(error, UnexpectedToken):
        return _unexpected_token(source, error)
    return _unexpected_character(source, error)


MOST_LETTERS = 100
"""Of a word, in a message."""
_SHOWN = {
    "NAME": "a name",
    "NUMBER": "a number",
    "QUANTITY": "a time or a size",
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
    "PLUS": "`+`",
    "MINUS": "`-`",
    "STAR": "`*`",
    "SLASH": "`/`",
    "SLASHES": "`//`",
    "PERCENT": "`%`",
    "$END": "the end of the text",
}
_GROUPS = (
    ("a statement", " ".join(STATEMENTS).upper()),
    ("a value", "NAME NUMBER STRING LPAREN QUANTITY TRUE FALSE LSQUARE MINUS NOT"),
    ("a clause", "READS UPDATES WRITES ROWS COLLECTIVE COST WHEN"),
    ("an operator", "PLUS MINUS OR AND _IN STAR SLASH SLASHES PERCENT"),
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


def _unexpected_token(source: Source, error: UnexpectedToken) -> Diagnostic:
    token = error.token
    at_end = token.type == "$END"
    span = end_of(source) if at_end else Span(source, token.start_pos or 0, token.end_pos or 0)
    word = token if len(token) <= MOST_LETTERS else f"{token[:MOST_LETTERS]}..."
    found = "the text ends" if at_end else f"found `{word}`"
    written, opened = _being_written(error)
    expected = error.expected if _deep(error) else error.accepts or error.expected
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
    if _keyword(token.type) in RESERVED and "NAME" in expected:
        help = f"`{token}` is a reserved word, so it cannot be a name"
    return Diagnostic("PL001", message, span, labels=tuple(labels), help=help)


def _deep(error: UnexpectedToken) -> bool:
    """Whether so much is open that trying what may follow, each on a copy of it all, would take long."""
    parser = error.interactive_parser
    return parser is not None and len(parser.parser_state.state_stack) > 10_000


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


def _unexpected_character(source: Source, error: UnexpectedCharacters) -> Diagnostic:
    at = error.pos_in_stream or 0
    character = source.text[at]
    help = ""
    if character == '"':
        message, help = "this text has no end", 'close it with `"` on the same line'
    else:
        message = f"{character!r} means nothing here"
    return Diagnostic("PL001", message, Span(source, at, at + 1), help=help)
