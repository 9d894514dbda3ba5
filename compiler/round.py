"""The Round: one round at one setting and one bucket, flat. The one form that passes work on.

`items` holds the round in text order, which is issue order: phases, edges, and for each capture an
Open and a Close around its phases. Streams, buffers, phases and captures are numbered from 0 in the
order of the text; stream 0 is the host. Every part keeps the span it came from.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from plait.dsl.record import Record
from plait.dsl.span import Span
from plait.dsl.values import Value

HOST = 0
"""The number of the host among streams."""

Kind: TypeAlias = Literal["reads", "updates", "writes"]
Axis: TypeAlias = "tuple[int, int] | int | None"
"""Of a region: from and up to, not including; one index, which drops the axis; the whole axis."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Stream(Record):
    name: str
    kind: str
    """`host`, or the class of a device stream: `compute`, `comm`, `copy`, `update`."""
    span: Span | None


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Buffer(Record):
    name: str
    dtype: str
    shape: tuple[int, ...] | None
    """Sizes at this bucket, in elements; None for an opaque one."""
    span: Span
    carried: bool = False
    static: bool = False
    scratch: bool = False
    copies: int = 1
    place: str = "device"
    """`device`, `host`, or `pinned` (host memory that only streams touch)."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Access(Record):
    buffer: int
    kind: Kind
    argument: str
    """The name under which the phase's callable gets it."""
    span: Span
    rounds_back: int = 0
    region: tuple[Axis, ...] | None = None

    @property
    def reads(self) -> bool:
        return self.kind != "writes"

    @property
    def writes(self) -> bool:
        return self.kind != "reads"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Phase(Record):
    number: int
    name: str
    """As in the text, with its index: `nextn[1]`."""
    base: str
    index: int | None
    stream: int
    accesses: tuple[Access, ...]
    span: Span
    """Of its label."""
    statement: Span
    attributes: frozenset[str] = frozenset()
    capture: int | None = None
    rows: int | None = None
    repeated: bool = False
    """Whether its statement stands in a `for`: an edit of the text would touch every copy."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Capture(Record):
    number: int
    name: str
    stream: int
    rows: int
    span: Span
    statement: Span


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Open(Record):
    capture: int


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Close(Record):
    capture: int


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Source(Record):
    """Where an edge starts: the newest item of a stream, a phase's end, a capture's end or load."""

    kind: Literal["stream", "phase", "capture", "loaded"]
    number: int
    rounds_back: int = 0


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Edge(Record):
    """`target` waits for `source`; the word only says which way the work goes."""

    number: int
    word: Literal["fork", "join"]
    source: Source
    target: int
    span: Span


Item: TypeAlias = Phase | Edge | Open | Close


@dataclass(frozen=True)
class Round:
    name: str
    settings: dict[str, Value]
    sizes: dict[str, int]
    """Each dim at this bucket."""
    streams: tuple[Stream, ...]
    buffers: tuple[Buffer, ...]
    captures: tuple[Capture, ...]
    phases: tuple[Phase, ...]
    items: tuple[Item, ...]

    @property
    def edges(self) -> list[Edge]:
        return [item for item in self.items if isinstance(item, Edge)]

    def origin(self, source: Source) -> int:
        """The stream that an edge's source is on."""
        if source.kind == "stream":
            return source.number
        if source.kind == "phase":
            return self.phases[source.number].stream
        return self.captures[source.number].stream

    def stream_name(self, stream: int) -> str:
        return self.streams[stream].name

    def source_name(self, source: Source) -> str:
        """A source as an edge in the text names it."""
        names = {
            "stream": lambda: self.streams[source.number].name,
            "phase": lambda: self.phases[source.number].name,
            "capture": lambda: self.captures[source.number].name,
            "loaded": lambda: self.captures[source.number].name + ".loaded",
        }
        return _prev(source.rounds_back) + names[source.kind]()

    def item_name(self, place: int) -> str:
        """What stands at a place of `items`, in the words of messages."""
        item = self.items[place]
        if isinstance(item, Edge):
            return self.edge_text(item)
        if isinstance(item, Phase):
            return item.name
        return self.captures[item.capture].name + (".loaded" if isinstance(item, Open) else "")

    def edge_text(self, edge: Edge) -> str:
        """An edge as a statement."""
        source, target = self.source_name(edge.source), self.stream_name(edge.target)
        return (
            f"fork {target} from {source}"
            if edge.word == "fork"
            else f"join {source} into {target}"
        )

    def structure(self) -> tuple:
        """All but sizes: two rounds of equal structure have the same order and the same wiring."""
        accesses = tuple(
            tuple((a.buffer, a.kind, a.rounds_back) for a in phase.accesses)
            for phase in self.phases
        )
        items = tuple(
            (item.number, item.name, item.stream, item.capture) if isinstance(item, Phase) else item
            for item in self.items
        )
        buffers = tuple((b.name, b.carried, b.static, b.copies, b.place) for b in self.buffers)
        return self.streams, buffers, tuple(c.name for c in self.captures), accesses, items


def _prev(rounds_back: int) -> str:
    return "" if rounds_back == 0 else "prev " if rounds_back == 1 else f"prev {rounds_back} "
