"""The grammar for editors: as committed, valid, and of the same colours as the lexer."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hypothesis import given

from drawing.texts import WHOLE_LANGUAGE, texts
from plait import __version__
from plait.dsl.highlight import TOKENS, PlaitLexer
from plait.dsl.textmate import SCOPES, grammar
from plait.dsl.textmate import text as generated


def test_the_committed_grammar_is_fresh(root: Path) -> None:
    """`editors/plait.tmLanguage.json` is what the table says today."""
    assert (root / "editors" / "plait.tmLanguage.json").read_text(encoding="utf-8") == generated()


def patterns(value: Any) -> Iterator[str]:
    """Every regular expression of a grammar."""
    if isinstance(value, dict):
        yield from (value[key] for key in ("match", "begin", "end") if key in value)
        value = list(value.values())
    if isinstance(value, list):
        for inner in value:
            yield from patterns(inner)


def test_patterns_mean_the_same_to_python_and_to_editors() -> None:
    """Only what `re` and Oniguruma read alike: no set within a set, no named group, no inline flag."""
    found = list(patterns(grammar()))
    assert len(found) > 20
    for pattern in found:
        re.compile(pattern)  # a look-behind without a fixed width, too, would not compile
        assert set(re.findall(r"\(\?(<?.)", pattern)) <= {":", "=", "!", "<="}
        assert not re.search(r"\\[AZzhHGKRXpP]|[*+?}]\+", pattern)
        assert not re.search(r"\[(?:\\.|[^\]\\])*(?<!\\)[\[&]", pattern.replace(r"\[", ""))


class Painter:
    """What an editor does with a grammar, line by line: the first match of the open region, or its end."""

    def __init__(self) -> None:
        self.grammar = grammar()
        self.open: list[dict[str, Any]] = [self.grammar]

    def line(self, line: str) -> Iterator[tuple[str, str]]:
        """Characters that got a scope, with it."""
        at = 0
        while found := self.first(line, at):
            match, captures, rule = found
            for number, capture in captures.items():
                yield from ((sign, capture["name"]) for sign in match[int(number)] or "")
            if rule is None:
                self.open.pop()
            elif "begin" in rule:
                self.open.append(rule)
            at = match.end()

    def first(self, line: str, at: int) -> tuple[re.Match[str], dict, dict | None] | None:
        """The earliest match from `at` on; of those at one place the end, then the first in the list."""
        top = self.open[-1]
        tried: list[tuple[str, dict, dict | None]] = []
        if "end" in top:
            tried.append((top["end"], top.get("endCaptures", {}), None))
        for rule in self.rules(top):
            if "begin" in rule:
                tried.append((rule["begin"], rule["beginCaptures"], rule))
            else:
                tried.append((rule["match"], rule["captures"], rule))
        found = [
            (match, captures, rule)
            for pattern, captures, rule in tried
            if (match := re.compile(pattern).search(line, at))
        ]
        return min(found, key=lambda one: one[0].start(), default=None)

    def rules(self, region: dict[str, Any]) -> Iterator[dict[str, Any]]:
        for one in region["patterns"]:
            if "include" not in one:
                yield one
                continue
            included = self.grammar["repository"][one["include"].removeprefix("#")]
            yield from [included] if "begin" in included else self.rules(included)


def painted(text: str) -> list[tuple[str, str]]:
    painter = Painter()
    return [sign for line in text.split("\n") for sign in painter.line(line)]


def lexed(text: str) -> list[tuple[str, str]]:
    """The same of the lexer: its tokens by the scopes of their kinds."""
    scopes = {token: f"{SCOPES[kind]}.plait" for kind, token in TOKENS.items() if kind}
    found = PlaitLexer().get_tokens_unprocessed(text)
    return [(sign, scopes[token]) for _, token, value in found if token in scopes for sign in value]


def test_a_line_has_the_scopes_of_its_parts() -> None:
    """Those that themes know, for a declaration, its name, its type, its attributes."""
    signs = dict(painted("buffer x : i64[4] carried # y"))
    assert [f"{sign} {signs[sign]}" for sign in "bx:6[4d#"] == [
        "b storage.type.plait",
        "x variable.other.definition.plait",
        ": punctuation.plait",
        "6 support.type.plait",
        "[ punctuation.plait",
        "4 constant.numeric.plait",
        "d storage.modifier.plait",
        "# comment.line.number-sign.plait",
    ]


def test_editors_and_pygments_colour_alike(root: Path) -> None:
    """Every sign of the examples, and of a text with the whole language, has one kind in both."""
    for text in [
        *(path.read_text() for path in (root / "examples").glob("*.spec")),
        WHOLE_LANGUAGE,
    ]:
        assert painted(text) == lexed(text)


@given(texts())
def test_editors_and_pygments_colour_alike_what_nobody_would_write(text: str) -> None:
    """Torn statements, open brackets and strange signs end in one and in the other alike."""
    assert painted(text) == lexed(text)


def read_json(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def test_the_extension_points_at_the_grammar(root: Path) -> None:
    """Its files are there, its version is Plait's, its grammar is the one that is generated."""
    folder = root / "editors" / "vscode"
    package = read_json(folder / "package.json")
    (language,), (colours,) = (
        package["contributes"]["languages"],
        package["contributes"]["grammars"],
    )
    assert package["version"] == __version__ and package["license"] == "Apache-2.0"
    assert language["extensions"] == [".spec"] and colours["language"] == language["id"]
    assert colours["scopeName"] == grammar()["scopeName"]
    assert read_json(folder / colours["path"]) == grammar()
    assert read_json(folder / language["configuration"])["comments"] == {"lineComment": "#"}


def test_the_extension_indents_as_the_examples_are(root: Path) -> None:
    """A line that opens a block moves the next one in, a brace at the front moves its own line out."""
    rules = read_json(root / "editors" / "vscode" / "language-configuration.json")[
        "indentationRules"
    ]
    deeper, back = (re.compile(rules[f"{way}IndentPattern"]) for way in ("increase", "decrease"))
    for text in [
        *(path.read_text() for path in (root / "examples").glob("*.spec")),
        WHOLE_LANGUAGE,
    ]:
        depth = within = 0
        for line in filter(None, text.splitlines()):
            if (
                within
            ):  # what a bracket has open is indented by the author's hand, or by `plait fmt`
                within += line.count("(") - line.count(")")
                depth += not within and bool(deeper.search(line))
                continue
            within = line.partition("#")[0].count("(") - line.partition("#")[0].count(")")
            depth -= bool(back.search(line))
            assert len(line) - len(line.lstrip()) == 2 * depth, line
            depth += bool(deeper.search(line))
