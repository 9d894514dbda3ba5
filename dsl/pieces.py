"""A text that parses as its words, signs and comments, and how far apart they are written."""

from __future__ import annotations

import re
from collections.abc import Sequence

from plait.dsl.record import Record
from plait.dsl.words import RESERVED, UNITS

_PIECE = re.compile(
    r'(?P<gap>[ \t\r\n]*)(?P<text>#[^\n]*|"[^"\n]*"'
    rf"|[0-9]+(?:\.[0-9]+)?(?:(?:{'|'.join(UNITS)})\b)?"
    r"|[A-Za-z_][A-Za-z0-9_]*|\.\.|//|[=!<>]=|[^ \t\r\n])"
)
_NAMELESS = RESERVED - {"true", "false"}
"""Words that no value ends with."""


class Piece(Record):
    text: str
    breaks: int
    """Line ends between the piece before and this one."""

    @property
    def comment(self) -> bool:
        return self.text.startswith("#")


def pieces(text: str) -> list[Piece]:
    found = [
        Piece(match["text"].rstrip(" \t\r"), match["gap"].count("\n"))
        for match in _PIECE.finditer(text)
    ]
    return [Piece(found[0].text, 1), *found[1:]] if found else []


def spaced(written: Sequence[Piece]) -> list[str]:
    """Each piece, with the blank before it that the one layout has there."""
    found, before, sign, depth = [], "", False, 0
    for piece in written:
        text = piece.text
        blank = bool(before) and not sign and _apart(before, text)
        found.append(f" {text}" if blank else text)
        if piece.comment:
            continue
        # Behind the type of a buffer nothing is subtracted: a `-` there is the sign of a number.
        attribute = depth == 0 and written[0].text == "buffer"
        sign = text == "-" and (attribute or not _ends_value(before))
        depth += (text in ("(", "[")) - (text in (")", "]"))
        before = text
    return found


def _apart(before: str, text: str) -> bool:
    if before in ("(", "[", ".") or text in (")", "]", ",", "."):
        return False
    if text in ("(", "["):
        return not (before[0].isalpha() or before[0] == "_") or before in RESERVED
    return True


def _ends_value(text: str) -> bool:
    if text in (")", "]"):
        return True
    word = text[:1].isalnum() or text[:1] in ("_", '"')
    return word and text not in _NAMELESS
