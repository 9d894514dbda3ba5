"""A captured graph on the CPU, and how its kernels are launched again.

Depends on torch and the standard library alone: a schedule emitted as Python carries this file.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import torch

from plait.runtime.devices.memory import compacted
from plait.runtime.devices.recording import Kernel, record, tensors_in
from plait.runtime.devices.refusals import CaptureError


class Replayer(Protocol):
    """One way to launch recorded kernels again."""

    kind: str
    """In words for reports."""

    def function(self, kernels: list[Kernel]) -> Callable[[], object]:
        """A function that launches them all, in order."""
        ...


class Graph:
    def __init__(self, name: str, place: str, phases: tuple[str, ...], launch: Any, kernels: int):
        self.name = name
        self.place = place
        self.phases = phases
        """Whose kernels it holds, in order."""
        self.kernels = kernels
        self.replays = 0
        self.job: Any = None
        """For the stream that replays it."""
        self._launch = launch

    @property
    def ran(self) -> int:
        return self.job.ran

    def replay(self) -> None:
        self.replays += 1
        self._launch()


def capture(
    name: str, place: str, calls: list[Any], written: list[torch.Tensor], replayer: Replayer
) -> Graph:
    """Runs the calls once, recorded, and then the replay of them, and puts `written` back as it was.

    One thread does so, as one does every phase; and memory made meanwhile is for use anywhere. Raises
    CaptureError.
    """
    threads = torch.get_num_threads()
    if threads != 1:
        torch.set_num_threads(1)
    try:
        with torch.inference_mode(False), torch.no_grad():
            recording = record(name, calls, written)
            kernels = compacted(recording.kernels, recording.intermediates)
            launch = replayer.function(kernels)
            _try(name, place, launch, written)
    finally:
        if threads != 1:
            torch.set_num_threads(threads)
    phases = tuple(call.name for call in calls)
    return Graph(name, place, phases, launch, len(kernels))


def _try(name: str, place: str, launch: Any, written: list[torch.Tensor]) -> None:
    kept = [tensor.clone() for tensor in written]
    try:
        launch()
    except Exception as error:
        found = f"{place}: `{name}` was captured, but its replay failed"
        raise CaptureError(f"{found}: {type(error).__name__}: {error}") from error
    finally:
        for tensor, value in zip(written, kept, strict=True):
            tensor.copy_(value)


class PythonReplayer:
    """Launches each kernel from one generated function. Needs nothing, holds the interpreter's lock."""

    kind = "replay of recorded kernels from Python"

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
