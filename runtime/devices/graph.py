"""A captured graph on the CPU, and how its kernels are launched again.

Depends on torch and the standard library alone: a schedule emitted as Python carries this file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import islice
from typing import Any, Protocol

import torch

from plait.runtime.devices.memory import Pool, compacted
from plait.runtime.devices.recording import Kernel, record, tensors_in
from plait.runtime.devices.refusals import CaptureError


class Replayer(Protocol):
    """One way to launch recorded kernels again."""

    @property
    def kind(self) -> str:
        """In words for reports."""
        ...

    def function(self, kernels: list[Kernel]) -> Callable[[], object]:
        """A function that launches them all, in order."""
        ...


class Watch(Protocol):
    """Keeps the time of what a graph holds."""

    def joined(
        self, name: str, calls: list[Any], launches: list[Callable[[], object]]
    ) -> Callable[[], object]:
        """A function that launches what each call has in the graph, one after the other."""
        ...

    def beside(self, calls: list[Any], launches: list[Callable[[], object]]) -> None:
        """Runs each call both ways. What they write is put back afterwards."""
        ...


class Graph:
    def __init__(
        self,
        name: str,
        place: str,
        phases: tuple[str, ...],
        launch: Any,
        kernels: int,
        taken: int,
    ):
        self.name = name
        self.place = place
        self.phases = phases
        """Whose kernels it holds, in order."""
        self.kernels = kernels
        self.taken = taken
        """Bytes that its intermediates needed beyond what its pool had."""
        self.replays = 0
        self.job: Any = None
        """For the stream that replays it."""
        self.rest: list[tuple[Any, int, Any]] = []
        """What comes behind a wait inside it: the event, how many rounds back, and the job then."""
        self._launch = launch

    @property
    def begun(self) -> int:
        """The newest round in which a part of it ran, where it waits inside."""
        return self.job.ran

    @property
    def ran(self) -> int:
        return self.rest[-1][2].ran if self.rest else self.job.ran

    def replay(self) -> None:
        self.replays += 1
        self._launch()


def capture(
    name: str,
    place: str,
    calls: list[Any],
    written: list[torch.Tensor],
    replayer: Replayer,
    pool: Pool | None = None,
    watch: Watch | None = None,
) -> Graph:
    """Runs the calls once, recorded, and then the replay of them, and puts `written` back as it was.

    One thread does so, as one does every phase; and memory made meanwhile is for use anywhere. No other
    graph of the pool may be in flight. With a watch each call's kernels are launched as a part of their
    own. Raises CaptureError.
    """
    room = (pool or Pool()).room()
    threads = torch.get_num_threads()
    if threads != 1:
        torch.set_num_threads(1)
    try:
        with torch.inference_mode(False), torch.no_grad():
            recording = record(name, calls, written)
            kernels = compacted(recording.kernels, recording.intermediates, room)
            parts: list[Callable[[], object]] = []
            if watch is None:
                launch = replayer.function(kernels)
            else:
                rest = iter(kernels)
                parts = [replayer.function(list(islice(rest, n))) for n in recording.counts]
                launch = watch.joined(name, calls, parts)
            with _undone(written):
                _try(name, place, launch)
                if watch is not None:
                    watch.beside(calls, parts)
    finally:
        if threads != 1:
            torch.set_num_threads(threads)
    phases = tuple(call.name for call in calls)
    return Graph(name, place, phases, launch, len(kernels), room.keep())


def _try(name: str, place: str, launch: Any) -> None:
    try:
        launch()
    except Exception as error:
        found = f"{place}: `{name}` was captured, but its replay failed"
        raise CaptureError(f"{found}: {type(error).__name__}: {error}") from error


@contextmanager
def _undone(written: list[torch.Tensor]) -> Iterator[None]:
    """Whatever is written to the tensors meanwhile, they have afterwards what they had before."""
    kept = [tensor.clone() for tensor in written]
    try:
        yield
    finally:
        for tensor, value in zip(written, kept, strict=True):
            tensor.copy_(value)


class PythonReplayer:
    """Launches each kernel from one generated function. Needs nothing, holds the interpreter's lock."""

    kind = "python: replay of recorded kernels from Python"

    def function(self, kernels: list[Kernel]) -> Callable[[], object]:
        # What the function uses are its globals, by number: no name of anyone's is in its text.
        names: dict[str, Any] = {}
        lines = ["def replay():", "    pass"]

        def held(value: Any) -> str:
            names[name := f"v{len(names)}"] = value
            return name

        for kernel in kernels:
            function, args, kwargs = kernel.quick or (_launch, (kernel,), {})
            words = [held(value) for value in args]
            words += [f"{key}={held(value)}" for key, value in kwargs.items()]
            lines.append(f"    {held(function)}({', '.join(words)})")
        exec(compile("\n".join(lines), "<captured kernels>", "exec"), names)
        return names["replay"]


def _launch(kernel: Kernel) -> None:
    schema = kernel.operator._schema.arguments
    args = [v for v, a in zip(kernel.arguments, schema, strict=True) if not a.kwarg_only]
    kwargs = {a.name: v for v, a in zip(kernel.arguments, schema, strict=True) if a.kwarg_only}
    results = kernel.operator(*args, **kwargs)
    if not kernel.into:
        return
    for into, result in zip(kernel.into, tensors_in(results), strict=True):
        if into is None:
            continue
        if into.shape != result.shape:
            raise RuntimeError(f"the size of what {kernel.operator} gives depends on data")
        into.copy_(result)
