"""A trace as all readers give it: lanes, what took time on each, and what ties one to another."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, NamedTuple, TypeAlias

Kind: TypeAlias = Literal[
    "compute", "communication", "copy", "wait", "record", "launch", "replay", "range", "host"
]
"""A wait is never busy time; a launch is of the host; a replay is a graph's, and holds its slices; a range
is a mark with a name around others, on a host or projected to a stream."""


class Lane(NamedTuple):
    """A stream of a device, or a thread of a host."""

    device: str
    """`npu 0`, `gpu 1`, `cpu`; `host` of a thread that launches."""
    stream: str
    """As the file names it: `7`, `main`."""
    name: str
    """For people."""


class Slice(NamedTuple):
    """Something that took time, in nanoseconds from the trace's first moment."""

    lane: int
    start: int
    end: int
    name: str
    kind: Kind
    correlation: int = -1
    """Of a launch and of what it launched, the same."""
    replay: int = -1
    """The number of the replay that holds it."""
    phase: str = ""
    """Of which phase it is, where the trace says so itself."""
    round: int = -1
    """Of which round, where the trace says so itself."""
    issued: int = -1
    """When the host launched it; -1: the trace does not say."""


class Replay(NamedTuple):
    """One replay of a graph, from its first slice to its last: one node."""

    launch: int
    """The slice that launched it, a host's call or a stream's task; -1: not in the trace."""
    slices: tuple[int, ...]
    """What ran in it, by start; the one row of a graph that a profiler shows as a whole; none: lost."""
    graph: str = ""
    """Which graph, where the trace says so."""
    start: int = -1
    end: int = -1
    row: int = -1
    """The slice that shows all of it, of kind `replay`; -1: there is none."""


class Join(NamedTuple):
    """A wait on one lane for what another had recorded."""

    waiter: int
    """Its lane."""
    at: int
    """When the lane came to it, or the host issued it."""
    source: int
    """The last slice on the recorded lane before the record; -1: the trace does not say."""
    source_lane: int
    """-1: the trace does not say."""
    until: int = -1
    """When the lane went on; -1: the trace does not say."""
    then: int = -1
    """The first slice of the lane behind the wait; -1: there is none."""


How: TypeAlias = Literal["device", "projected", "host"]
"""Where a window comes from: a mark on the device's lane; a mark on the host, and what was launched in it;
or, in a trace without a device, the mark on the host alone."""


class Window(NamedTuple):
    """What one named range covers on one lane."""

    name: str
    lane: int
    start: int
    end: int
    slices: tuple[int, ...]
    """What of the lane lies in it, by start; replays with all they hold."""
    how: How
    mark: int = -1
    """The range itself, a slice; it may be on a host."""
    depth: int = 0
    """How many other ranges of its thread are around it."""


class Round(NamedTuple):
    """A round, or a step of a profiler, where the trace marks them."""

    number: int
    start: int
    end: int
    """On the device, where there is one."""
    bucket: str = ""
    live: tuple[tuple[str, int], ...] = ()
    accepted: int | None = None
    """Tokens committed in it, over all requests."""
    idle: bool = False
    """Of a rank without requests."""


class Flow(NamedTuple):
    """How many arrows of a sort there are."""

    category: str
    pairs: int
    no_start: int = 0
    no_end: int = 0


class Coverage(NamedTuple):
    """How many launches of the host have anything in the trace that they launched."""

    kernels: int = 0
    kernels_seen: int = 0
    graphs: int = 0
    graphs_seen: int = 0


@dataclass
class Trace:
    file: str
    format: str
    """Of what profiler, for people: `Plait`, `Ascend trace_view`, `Kineto`."""
    zero: int = 0
    """The first moment, in nanoseconds as the file counts them."""
    lanes: list[Lane] = field(default_factory=list)
    slices: list[Slice] = field(default_factory=list)
    """By start, then end."""
    replays: list[Replay] = field(default_factory=list)
    joins: list[Join] = field(default_factory=list)
    flows: list[tuple[int, int]] = field(default_factory=list)
    """Pairs of slices that the file ties together: what launched, what was launched."""
    windows: list[Window] = field(default_factory=list)
    """By start, the outer before the inner."""
    rounds: list[Round] = field(default_factory=list)
    arrows: list[Flow] = field(default_factory=list)
    coverage: Coverage = field(default_factory=Coverage)
    overlaps: list[tuple[int, int]] = field(default_factory=list)
    """Pairs of slices of one stream that ran at once, which no stream can."""
    stated: dict[str, int] = field(default_factory=dict)
    """Totals that the profiler itself worked out, in nanoseconds, by name."""
    about: dict[str, str] = field(default_factory=dict)
    """What a trace by Plait says of its schedule: `schedule`, `source`, `sha256`, `target`, `settings`."""
    unknown: dict[str, int] = field(default_factory=dict)
    """What was not understood, by name, with how often it was met."""
    notes: list[str] = field(default_factory=list)
    """What else there is to know: rows dropped, gaps of the profiler, how little of replays is there."""

    @property
    def end(self) -> int:
        return max((one.end for one in self.slices), default=0)

    def is_around(self, place: int) -> bool:
        """Whether a slice shows a whole replay of which others show what it holds."""
        number = self.slices[place].replay
        return number >= 0 and self.replays[number].row == place != self.replays[number].slices[0]
