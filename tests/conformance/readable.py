"""The log of one round as it is read: streams, events, graphs and the like numbered as they come."""

from __future__ import annotations

from collections.abc import Iterable

from conformance.compared import Memory
from conformance.lines import Line, Piece


class Readable:
    def __init__(self, memory: Memory):
        self.memory = memory
        self.numbers: dict[str, str] = {}

    def text(self, lines: Iterable[Line]) -> str:
        return "".join(f"  {line}\n" for line in map(self.line, lines))

    def line(self, line: Line) -> str:
        words = [line.op]
        if line.op in ("phase", "done") or line.op == "block":
            words.append(line.of)
        elif line.op == "record":
            words += [line.of, line.stream]
        elif line.op == "touch":
            (piece,) = line.reads or line.writes
            words += [
                line.stream,
                "reads" if line.reads else "writes",
                str(piece.size),
                self.at(piece),
            ]
        elif line.reads or line.writes:
            out_of, into = (" ".join(map(self.at, p)) for p in (line.reads, line.writes))
            words += [line.stream, str(line.writes[0].size), out_of, "->", into]
        else:
            words += [line.stream, line.of]
        return " ".join(map(self.numbered, words))

    def numbered(self, word: str) -> str:
        """The same thing has the same number; another of its kind the next."""
        letter, number = word[:1], word[1:]
        if letter not in "segtw" or not number.isdigit():
            return word
        if word not in self.numbers:
            of_its_kind = [one for one in self.numbers if one[0] == letter]
            self.numbers[word] = f"{letter}{len(of_its_kind) + 1}"
        return self.numbers[word]

    def at(self, piece: Piece) -> str:
        return " or ".join(sorted(self.memory.names(piece))) or "own"
