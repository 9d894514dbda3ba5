"""A Schedule: the program that the compiler writes and the runtime executes.

It is to both what an instruction set is to an assembler and a machine, so nothing else of Plait is
imported here but how a bucket is chosen. It is plain data, fully resolved: everything is reached by
its number in a table, and names are only for people. As JSON it can be read, diffed, kept in a
repository and loaded anywhere: `schedule_json.py` writes that form, `schedule_reader.py` reads it.

Streams: number 0 is the host. Sizes are in elements, rows and rounds are counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from plait.runtime.buckets import smallest_bucket

if TYPE_CHECKING:
    from plait.runtime.devices.base import Device
    from plait.runtime.runner import Runner

VERSION = 4
HOST = 0

Axis: TypeAlias = "tuple[int, int] | int | None"
"""Of a region: from and up to, not including; one index, which drops the axis; the whole axis."""
Region: TypeAlias = "tuple[Axis, ...] | None"
Live: TypeAlias = "tuple[str, int, int] | tuple[()] | None"
"""Of an axis: a dim, and what to multiply it by and to add; (): nobody knows; None: it is all live."""
Kind: TypeAlias = Literal["reads", "updates", "writes"]
Op: TypeAlias = Literal[
    "run", "launch", "rebind", "record", "wait", "external", "load", "replay", "block", "vote"
]
PHASE_OPS = frozenset({"run", "launch", "rebind"})
"""Instructions that are of a phase."""
WIDTHS = {
    "bool": 1,
    "u8": 1,
    "i8": 1,
    "i16": 2,
    "i32": 4,
    "i64": 8,
    "f16": 2,
    "bf16": 2,
    "f32": 4,
    "f64": 8,
}
"""Bytes of an element."""
ALIGNMENT = 512
"""Bytes: what torch's allocators round to on CUDA (`kMinBlockSize`) and on Ascend."""
Setting: TypeAlias = bool | int | float | str | list["Setting"]


class Record:
    """Equality and representation of a frozen dataclass, written once: see `plait.dsl.record`."""

    __slots__ = ()

    def _values(self) -> tuple[object, ...]:
        return tuple(getattr(self, name) for name in self.__dataclass_fields__)  # type: ignore[attr-defined]

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self._values() == other._values()  # type: ignore[attr-defined]

    def __hash__(self) -> int:
        return hash(self._values())

    def __repr__(self) -> str:
        shown = ", ".join(f"{n}={getattr(self, n)!r}" for n in self.__dataclass_fields__)  # type: ignore[attr-defined]
        return f"{type(self).__name__}({shown})"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Place(Record):
    """Where in the spec something was written: line and column from 1, length in characters."""

    line: int
    column: int
    length: int
    file: int = 0
    """0: the spec itself; else the number, from 1, of a file it uses."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Digest(Record):
    """A text by its name and SHA-256."""

    name: str
    sha256: str


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Stream(Record):
    name: str
    kind: str
    place: Place | None


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Group(Record):
    """Ranks that communicate; their number and the group that contains them, where known."""

    name: str
    size: int | None
    inside: int | None


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Pool(Record):
    """Memory with a name. `size`: the most values alive in it at once; None: a pool of graphs."""

    name: str
    size: int | None


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Vote(Record):
    """What the host learns once a round, at one line: guards and dims, agreed over a group if any."""

    names: tuple[str, ...]
    group: int | None
    place: Place


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Buffer(Record):
    name: str
    """Of a buffer of a call, with the calls it stands in: `layers[3].q_lora`."""
    dtype: str
    """`i64`, `f32`, ... or `opaque`: bound by whoever runs the schedule."""
    memory: str
    """`device`, `host` or `pinned`."""
    carried: bool
    static: bool
    copies: int
    place: Place
    task: bool = False
    """Host parameters of captured tasks: a phase that writes it is a rebind."""
    pad: int | float | None = None
    """What rows beyond the live ones hold when it is loaded; None: anything."""
    pool: int | None = None
    offset: int | None = None
    """Where it begins in the arena, in bytes; None: it has memory of its own."""
    live: tuple[Live, ...] = ()
    """Of each axis, how many of its rows a round has; empty where no axis depends on a dim."""

    @property
    def opaque(self) -> bool:
        return self.dtype == "opaque"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Argument(Record):
    """One access of a phase: what its callable gets, and under which name."""

    name: str
    buffer: int
    kind: Kind
    rounds_back: int


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Collective(Record):
    kind: str
    group: int


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Phase(Record):
    name: str
    body: str
    """The callable it is bound to when none bears its full name: the name without its indices."""
    index: int | None
    """Its own, or that of the nearest call that has one."""
    stream: int
    capture: int | None
    arguments: tuple[Argument, ...]
    place: Place
    attributes: tuple[str, ...] = ()
    """`host_sync`, `raw`, `across_rows`, `skip_idle`."""
    collective: Collective | None = None


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Capture(Record):
    """One graph for every bucket. Phases are in the order of the program.

    `program` is what is issued while it is captured: `run` and `launch` of its phases, `record` and
    `wait` of events that are its own, numbered from 0, and `external` waits for events outside.
    """

    name: str
    stream: int
    phases: tuple[int, ...]
    copied_in: tuple[tuple[int, int], ...]
    """Buffers, and how many rounds back, that are copied into the graph's own inputs at its load."""
    place: Place
    program: tuple[Instruction, ...] = ()
    pool: int | None = None


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Event(Record):
    """Recorded once a round, after `source`."""

    name: str
    depth: int
    """How many rounds' records must be told apart: 1 + the furthest wait."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Instruction(Record):
    """One step, in issue order.

    | op | of | on |
    |---|---|---|
    | run | a phase | its stream, or the host |
    | launch | a phase that is in flight until something waits for it | a stream that is its own |
    | rebind | a phase that writes parameters of a captured task | its stream |
    | load, replay | a capture: copy its inputs in; launch its graph | its stream |
    | record, wait | an event, of `rounds_back` rounds before | a stream |
    | block | an event, of `rounds_back` rounds before | the host, which waits |
    | external | in a capture, an event outside it | a stream of the capture |
    | vote | a vote | the host |
    """

    op: Op
    of: int
    on: int
    rounds_back: int = 0
    place: Place | None = None


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Bucket(Record):
    """Everything that has a size, at one value of every dim, on one route."""

    sizes: tuple[tuple[str, int], ...]
    program: int
    shapes: tuple[tuple[int, ...] | None, ...]
    """Of every buffer; None for an opaque one, () for one that has no part in this."""
    regions: tuple[tuple[Region, ...], ...]
    """Of every phase, for each of its arguments."""
    rows: tuple[int, ...]
    """Of every capture; 0 where it has no part in this one."""
    route: tuple[tuple[str, Setting], ...] = ()
    """Of every run-time param and every guard that is asked, the value that leads here."""
    disjoint: tuple[tuple[int, Region, Region], ...] = ()
    """Buffers with two parts of each, which the author of the spec vouches never meet."""
    work: tuple[tuple[int, int | None], ...] = ()
    """Of every phase, its rows, 0 where it has no part in this one, and the nanoseconds that the spec
    says it takes, if any."""

    @property
    def name(self) -> str:
        named = [f"{dim} = {size}" for dim, size in self.sizes]
        named += [f"{name} = {_written(value)}" for name, value in self.route]
        return ", ".join(named) or "any"


@dataclass(frozen=True, eq=False, repr=False)
class Schedule(Record):
    """A round, proven and resolved: what every stream does, at each size and on each route.

    `compile` makes one and `load` reads one from its file; `bind` runs it. Nothing of it is ever changed.
    """

    name: str
    """Of the pipeline."""
    variant: str | None
    """Of the spec's variants the one that was taken."""
    compiler: str
    """Version of Plait that wrote it."""
    source: Digest
    """The spec."""
    target: Digest
    """The files that its target was read from."""
    settings: tuple[tuple[str, Setting], ...]
    """Every param and flag, in the order of the text."""
    environment: tuple[tuple[str, str | None], ...]
    """Every environment variable read, with what it held."""
    streams: tuple[Stream, ...]
    buffers: tuple[Buffer, ...]
    events: tuple[Event, ...]
    phases: tuple[Phase, ...]
    captures: tuple[Capture, ...]
    programs: tuple[tuple[Instruction, ...], ...]
    buckets: tuple[Bucket, ...]
    """Smallest first; of one size, the default route first."""
    groups: tuple[Group, ...] = ()
    pools: tuple[Pool, ...] = ()
    votes: tuple[Vote, ...] = ()
    same: tuple[Vote, ...] = ()
    """Values that need no vote: the ranks of a group give equal ones by construction."""
    used: tuple[Digest, ...] = ()
    """The files that the spec uses."""
    arena: int = 0
    """Bytes of device memory that buffers share."""
    unchecked: tuple[str, ...] = ()
    """Codes of what was found wrong in the spec, which was lowered all the same."""

    def bind(
        self,
        bodies: Mapping[str, Callable[..., object]],
        *,
        opaque: Mapping[str, object] | None = None,
        device: str | Device = "cpu",
        **how: Any,
    ) -> Runner:
        """A Runner of the schedule on a device, each phase with its callable.

        `how` is the rest of what `plait.runtime.bind` takes. Raises BindError when a body or a buffer does
        not fit, DeviceError for a device that is not here, and CaptureError where it is bound strictly.
        """
        from plait.runtime.bind import bind

        return bind(self, bodies, opaque=opaque, device=device, **how)

    def place_of(self, place: Place | None) -> str:
        """`file:line` of a place, for messages."""
        if place is None:
            return self.source.name
        file = self.source if place.file == 0 else self.used[place.file - 1]
        return f"{file.name}:{place.line}"

    def program_of(self, bucket: Bucket) -> tuple[Instruction, ...]:
        """The steps of a round at a bucket, in issue order."""
        return self.programs[bucket.program]

    def bucket_for(self, /, **live: object) -> Bucket:
        """The smallest bucket that holds these sizes, on the route of these values.

        Raises ValueError, as `smallest_bucket`.
        """
        sizes = [dict(bucket.sizes) for bucket in self.buckets]
        routes = [dict(bucket.route) for bucket in self.buckets]
        return self.buckets[smallest_bucket(self.name, sizes, routes, live)]

    @property
    def widest(self) -> Bucket:
        """The largest bucket, on its first route."""
        return next(one for one in self.buckets if one.sizes == self.buckets[-1].sizes)

    @property
    def routes(self) -> bool:
        """Whether rounds of one size differ: by a run-time param or a guard."""
        return any(bucket.route for bucket in self.buckets)

    def read_later(self) -> frozenset[int]:
        """Buffers that a phase reads as an earlier round, perhaps of another bucket, has left them."""
        arguments = (one for phase in self.phases for one in phase.arguments)
        return frozenset(one.buffer for one in arguments if one.rounds_back)

    @property
    def furthest_back(self) -> int:
        """How many rounds ago the oldest value is from that a phase reads."""
        return max((one.rounds_back for phase in self.phases for one in phase.arguments), default=0)

    def external_events(self) -> frozenset[int]:
        """Those that a graph waits for without recording them."""
        inside = [one for capture in self.captures for one in capture.program]
        return frozenset(one.of for one in inside if one.op == "external")

    def waits(self, bucket: Bucket) -> int:
        """Waits of one round, those of the host included."""
        return sum(one.op in ("wait", "block") for one in self.program_of(bucket))

    def largest(self) -> Iterator[tuple[int, ...] | None]:
        """Of every buffer, the size that holds every bucket, axis by axis."""
        for number in range(len(self.buffers)):
            shapes = [bucket.shapes[number] for bucket in self.buckets]
            known = [shape for shape in shapes if shape]
            yield tuple(map(max, *known)) if len(known) > 1 else known[0] if known else None


def _written(value: Setting) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def room(dtype: str, shape: tuple[int, ...]) -> int:
    """Bytes of a buffer, rounded up so that another may begin behind it."""
    return -(-prod(shape) * WIDTHS[dtype] // ALIGNMENT) * ALIGNMENT
