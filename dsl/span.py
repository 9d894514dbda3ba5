"""Where something stands in a text: kept on every node, from the parser to the schedule."""

from __future__ import annotations

from bisect import bisect_right
from functools import cached_property
from pathlib import Path
from typing import NamedTuple


class Source:
    """One text, by the name people know it by."""

    def __init__(self, name: str, text: str, folder: Path | None = None):
        self.name = name
        self.text = text
        self.folder = folder
        """Where it lies, when it is a file: what it uses lies there too."""

    @cached_property
    def line_starts(self) -> list[int]:
        """Offset of the first character of every line."""
        starts = [0]
        found = self.text.find("\n")
        while found >= 0:
            starts.append(found + 1)
            found = self.text.find("\n", found + 1)
        return starts

    def line(self, number: int) -> str:
        """The text of a line, counted from 1, without its end."""
        starts = self.line_starts
        end = starts[number] - 1 if number < len(starts) else len(self.text)
        return self.text[starts[number - 1] : end].rstrip("\r")

    def place(self, offset: int) -> tuple[int, int]:
        """Line and column of an offset, both counted from 1, columns in characters."""
        line = bisect_right(self.line_starts, offset)
        return line, offset - self.line_starts[line - 1] + 1

    def __repr__(self) -> str:
        return f"Source({self.name!r})"


class Span(NamedTuple):
    """The characters from `start` up to, not including, `end`."""

    source: Source
    start: int
    end: int

    @property
    def line(self) -> int:
        return self.source.place(self.start)[0]

    @property
    def column(self) -> int:
        return self.source.place(self.start)[1]

    @property
    def text(self) -> str:
        return self.source.text[self.start : self.end]

    def to(self, other: Span) -> Span:
        """From the start of this one to the end of the other."""
        return Span(self.source, self.start, other.end)

    def __str__(self) -> str:
        line, column = self.source.place(self.start)
        return f"{self.source.name}:{line}:{column}"

    def __repr__(self) -> str:
        return f"<{self}>"
