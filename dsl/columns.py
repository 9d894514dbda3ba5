"""Lines of a layout, and what is put under each other in them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import groupby

WIDTH = 110
GAP = 2


@dataclass
class Line:
    indent: int
    text: str
    remark: str = ""
    """The comment behind it."""
    gap: int = GAP
    blank: bool = False
    """Whether a blank line stands before it."""
    cells: tuple[str, ...] = ()
    """Of a declaration: its text, cut where those above and below it are cut."""

    @property
    def comment(self) -> bool:
        return self.text.startswith("#")

    @property
    def width(self) -> int:
        return self.indent + len(self.text)

    def __str__(self) -> str:
        above = "\n" * self.blank
        behind = " " * self.gap + self.remark if self.remark else ""
        return f"{above}{' ' * self.indent}{self.text}{behind}"


def text_of(lines: list[Line]) -> str:
    for run in _runs(lines, lambda line: (line.indent, len(line.cells))):
        _align_cells(run)
    for run in _runs(lines, lambda line: (line.indent, line.comment)):
        if not _align_remarks(run):
            for part in _runs(run, lambda line: bool(line.remark)):
                _align_remarks(part)
    return "".join(f"{line}\n" for line in lines)


def _runs(lines: Iterable[Line], key: Callable[[Line], object]) -> Iterable[list[Line]]:
    """Lines that follow each other without a blank one and with one key."""
    paragraph = 0

    def numbered(line: Line) -> object:
        nonlocal paragraph
        paragraph += line.blank
        return paragraph, key(line)

    return (list(run) for _, run in groupby(lines, numbered))


def _align_cells(run: list[Line]) -> None:
    for place in range(len(run[0].cells) - 1):
        width = max(len(line.cells[place]) for line in run)
        for line in run:
            cells = list(line.cells)
            cells[place] = cells[place].ljust(width)
            line.cells = tuple(cells)
    for line in run:
        line.text = " ".join(line.cells) or line.text


def _align_remarks(run: list[Line]) -> bool:
    """Puts the comments behind lines under each other, where the page is wide enough for that."""
    remarked = [line for line in run if line.remark]
    column = max((line.width for line in remarked), default=0)
    if any(column + GAP + len(line.remark) > WIDTH for line in remarked):
        return False
    for line in remarked:
        line.gap = GAP + column - line.width
    return True
