"""What a page has its reader do, from top to bottom: files to write, edits of them, commands.

A block of code below a line that ends in "`NAME`:" is that file; one of `diff` is an edit of it, whose
parts stand between lines `@@`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from pages.console import Shown, commands

BLOCK = re.compile(r"`([\w.]+)`:\n\n```(\w+)\n(.*?)```", re.DOTALL)


@dataclass(frozen=True)
class Written:
    """A file, whole."""

    line: int
    """Of the page, from 0."""
    name: str
    text: str


@dataclass(frozen=True)
class Edited:
    """Lines of a file, each with a sign before it: ` ` stays, `-` goes, `+` comes."""

    line: int
    name: str
    lines: tuple[str, ...]


def steps(text: str) -> list[Shown | Written | Edited]:
    found: list[Shown | Written | Edited] = [*commands(text)]
    for block in BLOCK.finditer(text):
        line, (name, kind, inside) = text[: block.start()].count("\n"), block.groups()
        if kind == "diff":
            found.append(Edited(line, name, tuple(inside.splitlines())))
        else:
            found.append(Written(line, name, inside))
    return sorted(found, key=lambda step: step.line)


def edited(text: str, lines: tuple[str, ...]) -> str:
    """A text after an edit. Raises ValueError for a part of it that is not there, or there twice."""
    for part in _parts(lines):
        old, new = (_side(part, gone) for gone in "+-")
        if text.count(old) != 1:
            raise ValueError(f"found {text.count(old)} times:\n{old}")
        text = text.replace(old, new)
    return text


def _parts(lines: tuple[str, ...]) -> list[list[str]]:
    parts: list[list[str]] = [[]]
    for line in lines:
        if line == "@@":
            parts.append([])
        else:
            parts[-1].append(line)
    return parts


def _side(part: list[str], gone: str) -> str:
    return "".join(f"{line[1:]}\n" for line in part if line[:1] != gone)
