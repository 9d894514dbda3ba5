"""Places in a text as editors count them: lines and columns from 0, columns in units of an encoding."""

from __future__ import annotations

import re
from bisect import bisect_right
from itertools import accumulate

from lsprotocol import types

from plait.dsl.span import Span

_LINE_END = re.compile(r"\r\n|\r|\n")


class Lines:
    """A text, by lines as the protocol has them, in UTF-16 unless the client offers another encoding."""

    def __init__(self, text: str, encoding: str = types.PositionEncodingKind.Utf16):
        self.text = text
        self.encoding = encoding
        found = [match.span() for match in _LINE_END.finditer(text)]
        self.starts = [0, *(end for _, end in found)]
        self.ends = [*(start for start, _ in found), len(text)]

    def position(self, offset: int) -> types.Position:
        offset = min(max(offset, 0), len(self.text))
        line = bisect_right(self.starts, offset) - 1
        before = self.text[self.starts[line] : offset]
        return types.Position(line, sum(map(self._units, before)))

    def offset(self, position: types.Position) -> int:
        """The character there; one past an end is that end, as the protocol wants it."""
        if position.line >= len(self.starts):
            return len(self.text)
        start = self.starts[position.line]
        units = accumulate(map(self._units, self.text[start : self.ends[position.line]]))
        return start + sum(1 for end in units if end <= position.character)

    def range(self, span: Span) -> types.Range:
        return types.Range(self.position(span.start), self.position(span.end))

    @property
    def whole(self) -> types.Range:
        return types.Range(types.Position(0, 0), self.position(len(self.text)))

    def line_end(self, offset: int) -> str:
        """The end of line that text written there should have."""
        line = bisect_right(self.starts, offset) - 1
        end = self.ends[line]
        return "\r\n" if self.text.startswith("\r\n", end) else "\n"

    def _units(self, character: str) -> int:
        if self.encoding == types.PositionEncodingKind.Utf8:
            return len(character.encode("utf-8", "surrogatepass"))
        if self.encoding == types.PositionEncodingKind.Utf32:
            return 1
        return 1 + (character > "\uffff")
