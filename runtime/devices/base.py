"""What a device is to a compiled program: the protocol on one page.

The words are those of accelerators. A stream does in order what it is given; an event is recorded on
one stream and waited for on others; a graph is captured once and replayed. Nothing here says how.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Protocol


class DeviceError(Exception):
    """There is no such device here, or it cannot do what is asked."""


Job = Callable[[], object]
"""A callable with its attributes `name` and `place` set, so that a failure can say what failed."""


class Event(Protocol):
    """Stands for its newest record. One that was never recorded holds nobody up."""


class Graph(Protocol):
    name: str
    phases: tuple[str, ...]
    """Of which it holds the kernels, in order."""
    kernels: int
    replays: int
    """How often it has run."""


class Stream(Protocol):
    def begin(self, round: int) -> None:
        """Everything given from here on belongs to that round."""

    def run(self, job: Job) -> None: ...

    def replay(self, graph: Any) -> None: ...

    def record(self, event: Any) -> None:
        """The event is reached when all that was given so far is done."""

    def wait(self, event: Any) -> None:
        """Nothing given from here on starts before the event's newest record is reached."""


class Host(Stream, Protocol):
    """The host as a stream: what it is given is done at once, and to wait is to be held up."""

    def leave(self) -> None:
        """A round is issued, and the host may be gone for long."""


class Device(Protocol):
    """Makes streams, events, memory and graphs. Sizes are in elements."""

    name: str
    capture_kind: str
    """How graphs are captured, in words for reports."""

    def host(self) -> Host: ...

    def stream(self, name: str, kind: str) -> Stream: ...

    def events(self, name: str, count: int) -> list[Any]: ...

    def empty(self, dtype: str, shape: tuple[int, ...], memory: str) -> Any:
        """Zeroed memory."""

    def block(self, size: int) -> Any:
        """So many bytes of zeroed device memory, of which `part` gives parts."""

    def part(self, block: Any, offset: int, dtype: str, shape: tuple[int, ...]) -> Any:
        """What lies in a block from that byte on."""

    def size(self, value: Any) -> int:
        """Bytes of a tensor, or of all in an opaque value."""
        ...

    def tensors(self, value: Any) -> list[Any]:
        """Those of an opaque value. Raises TypeError for what is none and holds none."""
        ...

    def shadow(self, value: Any) -> Any:
        """A copy of a tensor, or of a dict, list or tuple of tensors, in memory of its own."""

    def copies(self, name: str, place: str, pairs: Iterable[tuple[Any, Any]]) -> Job:
        """A job that copies the second of each pair into the first."""
        ...

    def call(self, name: str, place: str, body: Callable, arguments: dict[str, Any]) -> Job:
        """A job that calls a phase's body."""
        ...

    def capture(self, name: str, place: str, calls: list[Job], written: list[Any]) -> Graph:
        """Captures the calls, in order. What they write of `written` is put back afterwards."""
        ...

    def synchronize(self) -> None:
        """Waits for every stream. Raises what went wrong on any of them."""

    def close(self) -> None: ...
