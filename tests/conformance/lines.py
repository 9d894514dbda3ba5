"""The fake driver's log, line by line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

HOST = "host"
ON_A_STREAM = frozenset(
    ("capture", "captured", "execute", "finish", "tasks", "tasked", "update", "updated", "wait")
)
SAID = frozenset(("phase", "done", "round"))
"""By those who drive it."""
KNOWN = frozenset(("Slice", "ViewCopy", "ZerosLike"))
"""Kernels that say themselves what they copy or fill."""


class Piece(NamedTuple):
    """Bytes of memory."""

    address: int
    size: int


class Line(NamedTuple):
    """One call of the driver, or what was said between two."""

    op: str
    stream: str = ""
    of: str = ""
    """The event, graph, word or group; or what was said."""
    reads: tuple[Piece, ...] = ()
    writes: tuple[Piece, ...] = ()
    value: int = 0
    code: int = 0
    """With which it was refused."""

    def __str__(self) -> str:
        words = [
            self.op,
            self.of,
            str(self.value or ""),
            f"on {self.stream}" if self.stream else "",
        ]
        words += [f"with {self.code}"] if self.code else []
        return " ".join(word for word in words if word)


class Log(NamedTuple):
    rounds: list[list[Line]]
    graphs: dict[str, list[Line]]
    """What was captured, from its begin to its end."""


def log(lines: Iterable[Line]) -> Log:
    """By rounds; what came before the first was there for the captures."""
    found = Log([], {})
    held: list[Line] | None = None
    for line in lines:
        if line.op == "capture":
            held = []
        if line.op == "round":
            found.rounds.append([])
        elif held is not None:
            held.append(line)
        elif found.rounds:
            found.rounds[-1].append(line)
        if line.op == "captured" and held is not None:
            found.graphs[line.of] = held
            held = None
    return found


def parse(text: str) -> Iterator[Line]:
    """Those that are about order or memory; the driver is asked for much else."""
    for line in text.splitlines():
        call, _, code = line.partition(" -> ")
        op, _, rest = call.partition(" ")
        found = _line(op, rest.split(" "))
        if found is not None:
            yield found._replace(code=int(code or 0))


def _line(op: str, rest: list[str]) -> Line | None:
    match op, rest:
        case "copy", [stream, into, out_of, size]:
            return Line(op, stream, reads=_piece(out_of, size), writes=_piece(into, size))
        case "copy_now", [into, out_of, size]:
            return Line(op, HOST, reads=_piece(out_of, size), writes=_piece(into, size))
        case "set", [stream, address, size]:
            return Line(op, stream, writes=_piece(address, size))
        case "set_now", [address, size]:
            return Line(op, HOST, writes=_piece(address, size))
        case "touch", [stream, "reads", address, size]:
            return Line(op, stream, reads=_piece(address, size))
        case "touch", [stream, "writes", address, size]:
            return Line(op, stream, writes=_piece(address, size))
        case "record", [event, stream]:
            return Line(op, stream, event)
        case "block", [event]:
            return Line(op, HOST, event)
        case (("value_wait" | "value_write"), [stream, word, value]):
            return Line(op, stream, word, value=int(value))
        case "kernel", [stream, kind] if kind not in KNOWN:
            return Line(op, stream, kind)
        case _ if op in ON_A_STREAM:
            stream, of, *_ = (*rest, "")
            return Line(op, stream, of)
        case _ if op in SAID:
            return Line(op, of=" ".join(rest))
    return None


def _piece(address: str, size: str) -> tuple[Piece, ...]:
    return (Piece(int(address, 16), int(size)),)
