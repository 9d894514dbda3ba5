"""What a device is to a compiled program: the protocol on one page.

The words are those of accelerators. A stream does in order what it is given; an event is recorded on
one stream and waited for on others; a graph is captured once and replayed. Nothing here says how.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Literal, Protocol, TypeAlias

from plait.runtime.devices.abilities import Abilities


class DeviceError(Exception):
    """There is no such device here, or it cannot do what is asked."""


Job = Callable[[], object]
"""A callable with its attributes `name` and `place` set, so that a failure can say what failed.

Whoever runs it raises PhaseError as `job.explained` makes it, or else sets its `ran` to the round.
"""


Op = Literal["run", "task", "record", "wait", "external"]
Step: TypeAlias = "tuple[Op, Any, Any, tuple[int, ...]]"
"""One thing issued while a graph is captured: the op, the stream, what, and numbers.

| op | what | numbers |
|---|---|---|
| run | a job | |
| task | a job that reads parameters of a captured task | the buffers that hold them |
| record, wait | an event of the graph's own, by number from 0 | |
| external | an event that is recorded outside, once for each replay | of how many rounds back |

What an external event of this round stands for may be recorded only after the replay is issued.
"""


class Event(Protocol):
    """Stands for its newest record. One that was never recorded holds nobody up."""


class Graph(Protocol):
    name: str
    phases: tuple[str, ...]
    """Of which it holds the kernels, in order."""
    kernels: int
    replays: int
    """How often it has run."""
    ran: int
    """The newest round in which it came to its end."""
    taken: int
    """Bytes that it needed beyond what its pool had."""


class Stream(Protocol):
    """After a failure it does nothing that it is given, nor does one that waits for it, until `recover`."""

    def begin(self, round: int) -> None:
        """Everything given from here on belongs to that round."""

    def run(self, job: Any) -> None: ...

    def rebind(self, job: Any, tasks: Iterable[tuple[Any, int]]) -> None:
        """As `run`, of a job that writes parameters of captured tasks.

        `tasks` are the graphs that read what it writes, each with the number of the buffer.
        """

    def replay(self, graph: Any) -> None: ...

    def record(self, event: Any) -> None:
        """The event is reached when all that was given so far is done."""

    def wait(self, event: Any) -> None:
        """Nothing given from here on starts before the event's newest record is reached."""


class Host(Protocol):
    """The host as a stream: what it is given is done at once, and to wait is to be held up."""

    def begin(self, round: int) -> None:
        """Raises what has gone wrong on any stream so far."""

    def run(self, job: Any) -> None: ...

    def rebind(self, job: Any, tasks: Iterable[tuple[Any, int]]) -> None: ...

    def record(self, event: Any) -> None:
        """Of what the host has done, for a graph that waits for it from inside."""

    def wait(self, event: Any) -> None: ...

    def leave(self) -> None:
        """A round is issued, and the host may be gone for long."""


class Device(Protocol):
    """Makes streams, events, memory and graphs. Sizes are in elements."""

    name: str
    abilities: Abilities

    @property
    def capture_kind(self) -> str:
        """How graphs are captured, in words for reports."""
        ...

    def host(self) -> Host: ...

    def stream(self, name: str, kind: str) -> Stream: ...

    def events(self, name: str, count: int, external: bool = False) -> list[Any]:
        """`external`: a graph waits for them that does not record them."""
        ...

    def empty(self, dtype: str, shape: tuple[int, ...], memory: str) -> Any:
        """Zeroed memory: `device`, `host`, `pinned`, or `parameters`, where captured tasks have theirs."""

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

    def capture(
        self,
        name: str,
        place: str,
        steps: list[Step],
        written: list[Any],
        pool: int | None = None,
    ) -> Graph:
        """Captures the steps; the first of them is on the stream that the graph is issued on.

        What they write of `written` is put back afterwards. Graphs of one `pool` may share memory: of
        those, no two are in flight at once. Raises CaptureError, and then there is no graph.
        """
        ...

    def synchronize(self) -> None:
        """Waits for every stream. Raises what went wrong on any of them."""

    def recover(self) -> list[BaseException]:
        """Waits until nothing runs and forgets what went wrong, which it returns; each error once.

        Streams take work again, and events count as never recorded. Raises where that cannot be.
        """
        ...

    def close(self) -> None: ...
