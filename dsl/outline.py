"""The statements and clauses of a text that parses, each with its pieces, its blocks and its comments."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from plait.dsl.pieces import Piece
from plait.dsl.words import CLAUSES, STATEMENTS, TOP_LEVEL

_OPENERS = frozenset([*STATEMENTS, *TOP_LEVEL, "spec", "set"])
_CLAUSES = frozenset(CLAUSES)


@dataclass
class Block:
    """`head {`, what stands in it, and the comment behind its brace."""

    head: list[Piece]
    entries: list[Entry] = field(default_factory=list)
    remark: str = ""
    of_clauses: bool = False


@dataclass
class Entry:
    """A statement or a clause; or a comment on a line of its own, which is all its head."""

    head: list[Piece] = field(default_factory=list)
    """Without blocks: all of it."""
    blocks: list[Block] = field(default_factory=list)
    """With `else`, several."""
    remark: str = ""
    """The comment behind it, on its last line."""
    blank: bool = False
    """Whether a blank line stands before it."""
    in_line: bool = True
    """Whether it was written on one line."""

    @property
    def word(self) -> str:
        return (self.head or self.blocks[0].head)[0].text

    @property
    def comment(self) -> bool:
        return self.word.startswith("#")

    @property
    def commented(self) -> bool:
        """Whether a comment stands within it."""
        heads = [self.head, *(block.head for block in self.blocks)]
        return (
            any(piece.comment for head in heads for piece in head)
            or any(block.remark for block in self.blocks)
            or any(one.remark or one.commented for block in self.blocks for one in block.entries)
        )


def outline(written: list[Piece]) -> list[Entry]:
    return list(_Reader(written).entries(_OPENERS))


class _Reader:
    def __init__(self, written: list[Piece]):
        self.written = written
        self.at = 0

    def entries(self, openers: frozenset[str]) -> Iterator[Entry]:
        while self.at < len(self.written) and self.written[self.at].text != "}":
            entry = self.entry(openers)
            if not entry.comment:
                entry.remark = self.remark()
            yield entry

    def remark(self) -> str:
        """The comment that stands next, if it is on the line of what stands before it."""
        if self.at < len(self.written):
            piece = self.written[self.at]
            if piece.comment and not piece.breaks:
                self.at += 1
                return piece.text
        return ""

    def entry(self, openers: frozenset[str]) -> Entry:
        first = self.at
        opening = self.written[first]
        entry = Entry(blank=opening.breaks > 1)
        if opening.comment:
            self.at += 1
            entry.head = [opening]
            return entry
        above: list[Entry] = []
        while True:
            head = self.head(openers)
            if not self.next_is("{", self.at):
                entry.head = head
                break
            entry.blocks.append(self.block(head, openers, above))
            following = self.behind_comments()
            if not self.next_is("else", following):
                break
            # A comment between `}` and `else` speaks of what comes: it moves into the braces.
            above = [Entry([Piece(one.text, 1)]) for one in self.written[self.at : following]]
            self.at = following
        entry.in_line = not any(one.breaks for one in self.written[first + 1 : self.at])
        return entry

    def head(self, openers: frozenset[str]) -> list[Piece]:
        """What stands before a block, or all of what has none."""
        first = self.at
        word, depth = self.written[first].text, 0
        self.at += 1
        while (following := self.behind_comments()) < len(self.written):
            text = self.written[following].text
            within = text == "when" and word in ("capture", "else")
            if not depth and (text in ("{", "}") or (text in openers and not within)):
                self.at = following if text == "{" else self.at
                break
            depth += (text in ("(", "[")) - (text in (")", "]"))
            self.at = following + 1
        return self.written[first : self.at]

    def block(self, head: list[Piece], openers: frozenset[str], above: list[Entry]) -> Block:
        clauses = openers is _CLAUSES or head[0].text in ("phase", "launch")
        brace = self.written[self.at]
        self.at += 1
        block = Block([*head, brace], remark=self.remark(), of_clauses=clauses)
        block.entries = [*above, *self.entries(_CLAUSES if clauses else _OPENERS)]
        self.at += 1
        return block

    def behind_comments(self) -> int:
        """Where the next piece is that is no comment."""
        at = self.at
        while at < len(self.written) and self.written[at].comment:
            at += 1
        return at

    def next_is(self, text: str, at: int) -> bool:
        return at < len(self.written) and self.written[at].text == text
