"""The one layout of a text: what `plait fmt` writes.

It is made from the text's own pieces, so that all of them are still there, as they were written:
comments, parentheses, `1.50`. Only the clauses of a phase change places.
"""

from __future__ import annotations

from collections.abc import Sequence

from plait.dsl.columns import WIDTH, Line, text_of
from plait.dsl.outline import Block, Entry, outline
from plait.dsl.parser import parse
from plait.dsl.pieces import Piece, pieces, spaced
from plait.dsl.span import Source
from plait.dsl.words import CLAUSES

STEP = 2
_ALWAYS_OPEN = ("pipeline", "module")
_CUT_BEFORE = {"buffer": ":", "param": "=", "flag": "=", "variant": "of"}
"""Where declarations that follow each other are aligned."""


def formatted(source: Source) -> str:
    """The text in the one layout. Raises SpecError with every mistake in it."""
    parse(source)
    return text_of(_lines(outline(pieces(source.text)), 0))


def _lines(entries: Sequence[Entry], indent: int) -> list[Line]:
    lines: list[Line] = []
    for entry in entries:
        laid = _entry(entry, indent)
        laid[0].blank = entry.blank and bool(lines)
        lines += laid
    return lines


def _entry(entry: Entry, indent: int) -> list[Line]:
    if entry.comment:
        return [Line(indent, entry.word)]
    if _in_one_line(entry, indent):
        text = _one_line(entry)
        return [Line(indent, text, entry.remark, cells=_cells(entry, text))]
    if not entry.blocks:
        return _broken(entry.head, indent, entry.remark)
    # What a comment says of a line is said of its beginning, when that becomes several.
    moves = entry.in_line and not entry.blocks[0].remark
    lines: list[Line] = []
    for block in entry.blocks:
        remark = entry.remark if moves and not lines else block.remark
        head = [Piece("}", 1), *block.head] if lines else block.head
        lines[-1:] = _broken(head, indent, remark)
        lines += _lines(_ordered(block), indent + STEP)
        lines.append(Line(indent, "}"))
    lines[-1].remark = "" if moves else entry.remark
    return lines


def _in_one_line(entry: Entry, indent: int) -> bool:
    """Whether it fits and may: a block of statements only if it was written so."""
    if entry.commented:
        return False
    of_statements = any(block.entries and not block.of_clauses for block in entry.blocks)
    if of_statements and (not entry.in_line or entry.word in _ALWAYS_OPEN):
        return False
    return indent + len(_one_line(entry)) <= WIDTH


def _one_line(entry: Entry) -> str:
    if not entry.blocks:
        return "".join(spaced(entry.head))
    parts = []
    for block in entry.blocks:
        inside = "  ".join(_one_line(one) for one in _ordered(block))
        parts.append("".join(spaced(block.head)) + (f" {inside} }}" if inside else " }"))
    return " ".join(parts)


def _cells(entry: Entry, text: str) -> tuple[str, ...]:
    """A declaration up to its sign and from there on."""
    sign = _CUT_BEFORE.get(entry.word)
    if sign is None:
        return ()
    head = (entry.head or entry.blocks[0].head)[:3]
    if len(head) < 3 or head[2].text != sign:  # a param that is picked from a list
        return ()
    word, name = head[0].text, head[1].text
    rest = text[len(word) + len(name) + 2 :]
    return (f"{word} {name}", rest) if entry.blocks or word == "buffer" else (word, name, rest)


def _ordered(block: Block) -> list[Entry]:
    """The clauses of a phase in their order, each with the comments above it; statements as they are."""
    if not block.of_clauses:
        return block.entries
    groups: list[list[Entry]] = [[]]
    for entry in block.entries:
        entry.blank = False
        groups[-1].append(entry)
        if not entry.comment:
            groups.append([])
    *clauses, rest = groups
    ordered = sorted(clauses, key=lambda group: CLAUSES.index(group[-1].word))
    if _settling(ordered) != _settling(clauses):
        ordered = clauses
    return [entry for group in [*ordered, rest] for entry in group]


def _settling(clauses: list[list[Entry]]) -> list[int]:
    """The clauses of which the last one counts, in their order."""
    found: list[int] = []
    for word in ("rows", "cost"):
        found += [id(one) for group in clauses for one in _of_word(group[-1], word)]
    return found


def _of_word(entry: Entry, word: str) -> list[Entry]:
    own = [entry] if entry.word == word else []
    return own + [one for b in entry.blocks for inner in b.entries for one in _of_word(inner, word)]


def _broken(written: Sequence[Piece], indent: int, remark: str) -> list[Line]:
    """Lines of what does not fit in one or has comments within; all but the first stand deeper."""
    lines = [Line(indent, "")]

    def next_line() -> None:
        if lines[-1].text:
            lines.append(Line(indent + 2 * STEP, ""))

    for chunk, text in _chunks(written):
        if chunk.comment and chunk.breaks:
            next_line()
            lines[-1].text = text
            next_line()
        elif chunk.comment:
            lines[-1].remark = text
            next_line()
        else:
            if lines[-1].width + len(text) > WIDTH:
                next_line()
            lines[-1].text += text if lines[-1].text else text.lstrip(" ")
    lines[-1].remark = remark
    return lines


def _chunks(written: Sequence[Piece]) -> list[tuple[Piece, str]]:
    """Text between which a line may end: behind a comma, before `and` and `or`, around a comment."""
    chunks: list[tuple[Piece, str]] = []
    ended = True
    for piece, text in zip(written, spaced(written), strict=True):
        if piece.comment:
            chunks.append((piece, piece.text))
        elif ended or piece.text in ("and", "or"):
            chunks.append((piece, text))
        else:
            chunks[-1] = (chunks[-1][0], chunks[-1][1] + text)
        ended = piece.comment or piece.text == ","
    return chunks
