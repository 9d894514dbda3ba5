"""The Round: one round at one setting, bucket and route, flat. The one form that passes work on.

`items` holds the round in text order, which is issue order: phases, edges, votes, and for each capture
an Open and a Close around its phases and inner edges. Calls are expanded: what they issue is named
after them, as `layers[3].attention`. Streams, buffers, phases and captures are numbered from 0 in the
order of the text; stream 0 is the host. Every part keeps the span it came from.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, TypeAlias

from plait.compiler.elaboration.frame import Frame
from plait.compiler.rows.extent import Extent
from plait.dsl.record import Record
from plait.dsl.span import Span
from plait.dsl.values import Measure, Value, written

HOST = 0
"""The number of the host among streams."""

Kind: TypeAlias = Literal["reads", "updates", "writes"]
Word: TypeAlias = Literal["fork", "join", "launch", "await"]
Part: TypeAlias = "tuple[int, tuple[Axis, ...] | None]"
"""A buffer and a region of it; None: all of it."""
Axis: TypeAlias = "tuple[int, int] | int | None"
"""Of a region: from and up to, not including; one index, which drops the axis; the whole axis."""


class Stream(Record):
    name: str
    kind: str
    """`host`, or the class of a device stream: `compute`, `comm`, `copy`, `update`."""
    span: Span | None


class Group(Record):
    """Ranks that communicate. Its size and the group that contains it, where known."""

    name: str
    span: Span
    size: int | None = None
    inside: int | None = None


class Choice(Record):
    """A value that each round settles anew: of a dim, a run-time param or a guard."""

    name: str
    value: Value
    span: Span
    group: int | None = None
    """Whose ranks agree on it; None: it is this rank's own."""
    voted: bool = False
    """Whether they agree by a vote, not by construction."""
    kind: Literal["dim", "param", "guard"] = "guard"
    agreement: Span | None = None
    """Where the group is named, or could be with `over`; None: it can be nowhere."""
    asked: bool = True
    """False for a guard that follows from the values above it on this route."""


class Pool(Record):
    """Named memory. `size`: the most values alive in it at once; None: a pool of graphs."""

    name: str
    span: Span
    size: int | None = None


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
    task: bool = False
    """Host parameters of captured tasks: a graph waits for them where they are read."""
    pad: int | float | None = None
    """What rows beyond the live ones hold when it is loaded."""
    pool: int | None = None
    axes: tuple[Extent | None, ...] = ()
    """How each size depends on dims; None: not at all."""
    statement: Span | None = None


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


class Collective(Record):
    kind: str
    group: int
    span: Span
    capacity: int | None = None
    """Most rows of a rank that the exchange holds."""


class Phase(Record):
    number: int
    name: str
    """With the calls it stands in and all indices: `layers[3].nextn[1]`."""
    base: str
    """The same without indices."""
    index: int | None
    """Its own, or that of the nearest call that has one."""
    stream: int
    accesses: tuple[Access, ...]
    span: Span
    """Of its label."""
    statement: Span
    attributes: frozenset[str] = frozenset()
    capture: int | None = None
    rows: int | None = None
    collective: Collective | None = None
    cost: Measure | None = None
    braces: Span | None = None
    """The statement of the capture it stands in, also where that runs eagerly."""
    launched: bool = False
    """Whether it is the first half of a split operation, on a stream that is its own."""
    extent: Extent | None = None
    """How its rows depend on dims."""
    rows_span: Span | None = None
    within: str = ""
    """The name of the capture it stands in, also where that runs eagerly."""
    frame: Frame | None = None
    """Where its statement stands."""

    @property
    def repeated(self) -> bool:
        """Whether its statement may be expanded more than once."""
        return self.frame is not None and self.frame.repeats


class Capture(Record):
    number: int
    name: str
    stream: int
    rows: int
    span: Span
    statement: Span
    pool: int | None = None
    extent: Extent | None = None
    """How its rows depend on dims."""
    rows_span: Span | None = None


class Open(Record):
    capture: int


class Close(Record):
    capture: int


class Source(Record):
    """Where an edge starts: the newest item of a stream, a phase's end, a capture's end or load.

    `elsewhere`: the record of an earlier round of a point that this route has not. `number` is its
    stream, and a round without the point records there when that has done all it was issued.
    """

    kind: Literal["stream", "phase", "capture", "loaded", "elsewhere"]
    number: int
    rounds_back: int = 0
    name: str = ""
    """Of a point elsewhere."""


class Edge(Record):
    """`target` waits for `source`; the word only says which way the work goes."""

    number: int
    word: Word
    source: Source
    target: int
    span: Span
    capture: int | None = None
    """The capture it stands in: a stream it names is then that stream within the graph."""


class Vote(Record):
    """The host learns values that bound code gives once a round, agreed where a group is named."""

    names: tuple[str, ...]
    """Of guards and dims, in the order of the text."""
    group: int | None
    span: Span


Item: TypeAlias = Phase | Edge | Open | Close | Vote


@dataclass(frozen=True)
class Round:
    name: str
    settings: dict[str, Value]
    sizes: dict[str, int]
    """Each dim at this bucket."""
    route: dict[str, Value]
    """Each run-time param and each guard that is asked, at this route."""
    streams: tuple[Stream, ...]
    buffers: tuple[Buffer, ...]
    captures: tuple[Capture, ...]
    phases: tuple[Phase, ...]
    items: tuple[Item, ...]
    groups: tuple[Group, ...] = ()
    pools: tuple[Pool, ...] = ()
    disjoint: tuple[tuple[Part, Part], ...] = ()
    """Parts of a buffer that the author vouches never meet."""
    choices: tuple[Choice, ...] = ()
    """What this round settles, in the order of the text."""
    widths: dict[str, int] = field(default_factory=dict)
    """Rows of each capture by name, also of those that are no graph in this round."""

    @property
    def where(self) -> str:
        """` at bs = 4, draft_graph = true`: which round this is, in the words of messages."""
        return f" at {self.answers}" if self.answers else ""

    @property
    def answers(self) -> str:
        """`bs = 4, draft_graph = true`: the same, without a word before it."""
        named = {**self.sizes, **self.route}
        return ", ".join(f"{name} = {written(value)}" for name, value in named.items())

    @property
    def edges(self) -> list[Edge]:
        return [item for item in self.items if isinstance(item, Edge)]

    def origin(self, source: Source) -> int:
        """The stream that an edge's source is on."""
        if source.kind in ("stream", "elsewhere"):
            return source.number
        if source.kind == "phase":
            return self.phases[source.number].stream
        return self.captures[source.number].stream

    def from_outside(self, edge: Edge) -> bool:
        """Whether an edge within a capture waits for a phase that is no part of it: a rebind."""
        source = edge.source
        return source.kind == "phase" and self.phases[source.number].capture != edge.capture

    def rebound_later(self, place: int) -> Phase | None:
        """The phase that an edge waits for although it is issued further down: a rebind."""
        edge = self.items[place]
        if not isinstance(edge, Edge) or edge.source.kind != "phase" or edge.source.rounds_back:
            return None
        later = self.places["phase", edge.source.number] > place
        return self.phases[edge.source.number] if later else None

    @cached_property
    def waits_ahead(self) -> tuple[int, ...]:
        """The places of edges that wait for what is issued further down."""
        return tuple(n for n in range(len(self.items)) if self.rebound_later(n) is not None)

    def stream_name(self, stream: int) -> str:
        return self.streams[stream].name

    def issuer(self, stream: int) -> int:
        """The stream that what runs there is issued on: of an operation in flight, where it was launched."""
        return self._issuers.get(stream, stream)

    @cached_property
    def _issuers(self) -> dict[int, int]:
        return {edge.target: edge.source.number for edge in self.edges if edge.word == "launch"}

    def source_name(self, source: Source) -> str:
        """A source as an edge in the text names it."""
        names = {
            "stream": lambda: self.streams[source.number].name,
            "phase": lambda: self.phases[source.number].name,
            "capture": lambda: self.captures[source.number].name,
            "loaded": lambda: self.captures[source.number].name + ".loaded",
            "elsewhere": lambda: source.name,
        }
        return prev(source.rounds_back) + names[source.kind]()

    def outside(self, phase: Phase) -> str:
        """The point that a phase is to what is outside its capture."""
        return phase.name if phase.capture is None else self.captures[phase.capture].name

    def stream_outside(self, item: Item) -> int | None:
        """The stream that an item is issued to, as streams are outside captures."""
        if isinstance(item, Open | Close):
            return self.captures[item.capture].stream
        return item.stream if isinstance(item, Phase) and item.capture is None else None

    def item_name(self, place: int) -> str:
        """What stands at a place of `items`, in the words of messages."""
        item = self.items[place]
        if isinstance(item, Edge):
            return self.edge_text(item)
        if isinstance(item, Phase):
            return item.name
        if isinstance(item, Vote):
            return "the vote on " + ", ".join(item.names)
        return self.captures[item.capture].name + (".loaded" if isinstance(item, Open) else "")

    def edge_text(self, edge: Edge) -> str:
        """An edge as a statement."""
        source, target = self.source_name(edge.source), self.stream_name(edge.target)
        match edge.word:
            case "fork":
                return f"fork {target} from {source}"
            case "join":
                return f"join {source} into {target}"
            case "launch":
                return f"launch {target} on {source}"
            case "await":
                return f"await {source} on {target}"

    @cached_property
    def places(self) -> dict[tuple[str, int], int]:
        """The item of every point, by what an edge's source says of it: its kind and number."""
        found: dict[tuple[str, int], int] = {}
        for place, item in enumerate(self.items):
            if isinstance(item, Phase):
                found["phase", item.number] = place
            elif isinstance(item, Open):
                found["loaded", item.capture] = place
            elif isinstance(item, Close):
                found["capture", item.capture] = place
        return found

    @cached_property
    def inside(self) -> dict[int, list[int]]:
        """Of each capture that has any, the places of its phases."""
        found: dict[int, list[int]] = {}
        for place, item in enumerate(self.items):
            if isinstance(item, Phase) and item.capture is not None:
                found.setdefault(item.capture, []).append(place)
        return found

    @cached_property
    def meeting(self) -> tuple:
        """Its structure, regions, pools and collectives: two rounds that are equal in it race alike."""
        regions = tuple(tuple(access.region for access in phase.accesses) for phase in self.phases)
        collectives = tuple(
            one and (one.group, one.kind) for one in (phase.collective for phase in self.phases)
        )
        return self.structure, regions, self.pools, collectives

    @cached_property
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
        buffers = tuple(
            (b.name, b.dtype, b.carried, b.static, b.scratch, b.copies, b.place, b.task, b.pool)
            for b in self.buffers
        )
        captures = tuple((capture.name, capture.stream, capture.pool) for capture in self.captures)
        return self.streams, buffers, captures, accesses, items


def rounds_before(distance: int) -> str:
    """How long ago that is, in the words of messages."""
    return "the round before" if distance == 1 else f"{distance} rounds before"


def prev(rounds_back: int) -> str:
    """What stands before a point of an earlier round in an edge."""
    return "" if rounds_back == 0 else "prev " if rounds_back == 1 else f"prev {rounds_back} "
