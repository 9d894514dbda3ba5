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


class Replay(NamedTuple):
    """One replay of a graph."""

    launch: int
    """The slice of the host that launched it; -1: not in the trace."""
    slices: tuple[int, ...]
    """What ran in it, by start."""


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


class Round(NamedTuple):
    """What a trace by Plait says of one round."""

    number: int
    start: int
    end: int
    bucket: str = ""
    live: tuple[tuple[str, int], ...] = ()
    accepted: int | None = None
    """Tokens committed in it, over all requests."""


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
    rounds: list[Round] = field(default_factory=list)
    unknown: dict[str, int] = field(default_factory=dict)
    """What was not understood, by name, with how often it was met."""
    notes: list[str] = field(default_factory=list)
    """What else there is to know: rows dropped, lanes that overlap, gaps of the profiler."""

    @property
    def end(self) -> int:
        return max((one.end for one in self.slices), default=0)
