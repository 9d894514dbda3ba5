"""What a recipe sets: variables that it exports, and options that it passes."""

from __future__ import annotations

import re

from plait.compiler.recipe.words import Word, commands
from plait.dsl.record import Record
from plait.dsl.span import Source, Span

_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_OPTION = re.compile(r"--[A-Za-z][A-Za-z0-9_-]*")
BEFORE_A_COMMAND = frozenset(
    ("!", "{", "command", "do", "else", "env", "exec", "if", "nohup", "sudo", "then", "time")
)
"""Words that other commands may stand behind."""


class Export(Record):
    name: str
    value: str | None
    """None where only running the recipe would tell."""
    span: Span
    """Of the name and what it is set to."""


class Given(Record):
    """An option as it is passed."""

    name: str
    words: tuple[Word, ...]
    span: Span
    """Of the option, up to its last word."""
    command: int


class Recipe(Record):
    source: Source
    exports: tuple[Export, ...]
    """The last of every name, in the order of the text."""
    options: tuple[Given, ...]

    @property
    def environment(self) -> dict[str, str]:
        """The variables whose value is known."""
        return {e.name: e.value for e in self.exports if e.value is not None}


def read_recipe(source: Source) -> Recipe:
    """What a shell text sets, line by line, as if every line ran. Raises SpecError."""
    reader = _Reader()
    for number, words in enumerate(commands(source)):
        reader.take(number, words)
    return Recipe(source, tuple(reader.exports.values()), tuple(reader.options))


class _Reader:
    def __init__(self) -> None:
        self.variables: dict[str, Export] = {}
        """Set, and not exported yet."""
        self.exports: dict[str, Export] = {}
        self.options: list[Given] = []

    def take(self, number: int, words: list[Word]) -> None:
        """One command."""
        place = 0
        while place < len(words) and words[place].text in BEFORE_A_COMMAND:
            place += 1
        first = place
        while place < len(words) and _ASSIGNMENT.match(words[place].text):
            place += 1
        assigned, rest = words[first:place], words[place:]
        for word in assigned:
            if rest:
                self._export(_assigned(word))
            else:
                self._set(_assigned(word))
        if not rest:
            return
        if rest[0].text == "export" or [word.text for word in rest[:2]] == ["declare", "-x"]:
            for word in rest[1:]:
                self._exported(word)
        elif rest[0].text == "unset":
            for word in rest[1:]:
                self.exports.pop(word.text, None)
                self.variables.pop(word.text, None)
        else:
            self._options(number, rest)

    def _set(self, export: Export) -> None:
        if export.name in self.exports:
            self._export(export)
        else:
            self.variables[export.name] = export

    def _export(self, export: Export) -> None:
        self.exports.pop(export.name, None)
        self.exports[export.name] = export

    def _exported(self, word: Word) -> None:
        """A word behind `export`."""
        if _ASSIGNMENT.match(word.text):
            self._export(_assigned(word))
        elif _NAME.match(word.text) and word.text in self.variables:
            self._export(self.variables[word.text])

    def _options(self, number: int, words: list[Word]) -> None:
        place = 0
        while place < len(words):
            word = words[place]
            place += 1
            name = _OPTION.match(word.text)
            if name is None:
                continue
            values: list[Word] = []
            if word.text[name.end() :].startswith("="):
                values = [word.from_(name.end() + 1)]
            elif name.end() == len(word.text):
                while place < len(words) and not re.match("-[^0-9.]", words[place].text):
                    values.append(words[place])
                    place += 1
            span = word.span.to(values[-1].span) if values else word.span
            self.options.append(Given(name[0], tuple(values), span, number))


def _assigned(word: Word) -> Export:
    name, _, _ = word.text.partition("=")
    return Export(name, word.from_(len(name) + 1).value, word.span)
