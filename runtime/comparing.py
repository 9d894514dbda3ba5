"""Graphs against their phases: a device that runs both at every replay, on the same inputs.

Each phase of a capture is captured alone, too. At a replay the phases run one after the other, each by
its own graph and then by its body, from the same contents; and what the whole graph leaves is held
against what the bodies leave. All of it is waited for, so this is for finding faults, not for speed.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

import torch

from plait.runtime.devices.around import Around, AroundStream
from plait.runtime.devices.base import Device, Job, Step
from plait.runtime.devices.recording import memory_of, storage_of

NEAR, OF_VALUE = 1e-5, 1e-4
"""How far floats may be apart where bits need not be equal: so much, and so much of the value."""


@dataclass(frozen=True)
class Difference:
    """Where a graph and a phase first gave different values."""

    capture: str
    phase: str
    place: str
    """The line of the phase."""
    alone: bool
    """Whether the phase captured alone shows it; else only the whole graph does."""
    buffer: str
    """By the name that the phase has for it."""
    index: tuple[int, ...]
    """Of the element; the first is its row."""
    round: int
    graph: float
    eager: float

    def __str__(self) -> str:
        at = "" if not self.index else f"[{', '.join(map(str, self.index))}]"
        graph = "its graph" if self.alone else f"the graph of `{self.capture}`"
        return (
            f"{self.place}: `{self.phase}` of `{self.capture}`, round {self.round}: {graph} left "
            f"{self.graph:g} in {self.buffer}{at}, its body {self.eager:g}"
        )


class Comparing(Around):
    """Another device that compares. `exact`: bit by bit; else floats may be a little apart."""

    def __init__(self, device: Device, exact: bool = True) -> None:
        super().__init__(device)
        self.exact = exact
        self.replays = 0
        """That were compared."""
        self.differing = 0
        self.first: Difference | None = None
        self.left_out: set[str] = set()
        """Captures that wait from inside for what may be issued later, which no replay can be stopped for."""

    def before(self, inner: Any) -> _Stream:
        return _Stream(inner, self)

    def capture(
        self, name: str, place: str, steps: list[Step], written: list[Any], pool: int | None = None
    ) -> Any:
        steps = self.behind(steps)
        tensors = [tensor for value in written for tensor in self.device.tensors(value)]
        graph = self.device.capture(name, place, steps, written, pool)
        if any(op == "external" for op, *_ in steps):
            self.left_out.add(name)
            return _Graph(graph, [], tensors)
        parts = [
            _Part(step, self.device.capture(name, place, [step], written))
            for step in steps
            if step[0] in ("run", "task")
        ]
        return _Graph(graph, parts, tensors)

    def report(self) -> dict[str, Any]:
        """As JSON values."""
        return {
            "replays": self.replays,
            "differing": self.differing,
            "left_out": sorted(self.left_out),
            "first": None if self.first is None else asdict(self.first),
            "text": "" if self.first is None else str(self.first),
        }

    def note(self, difference: Difference) -> None:
        self.differing += 1
        self.first = self.first or difference


@dataclass(frozen=True)
class _Part:
    """A phase of a capture, and a graph of it alone."""

    step: Step
    graph: Any


class _Graph:
    """A graph with what it is compared with."""

    def __init__(self, graph: Any, parts: list[_Part], written: list[torch.Tensor]) -> None:
        self.graph = graph
        self.parts = parts
        self.written = written

    def __getattr__(self, name: str) -> Any:
        return getattr(self.graph, name)

    def now(self) -> list[torch.Tensor]:
        """What it writes, as it stands."""
        return [tensor.clone() for tensor in self.written]

    def back(self, values: list[torch.Tensor]) -> None:
        for tensor, value in zip(self.written, values, strict=True):
            tensor.copy_(value)

    def reads(self, buffer: int) -> list[Any]:
        """The graphs that have a task with parameters in a buffer."""
        return [self.graph, *(part.graph for part in self.parts if buffer in part.step[3])]


class _Stream(AroundStream):
    """A stream on which every replay is compared."""

    def __init__(self, inner: Any, comparing: Comparing) -> None:
        super().__init__(inner)
        self.comparing = comparing

    def rebind(self, job: Job, tasks: Iterable[tuple[Any, int]]) -> None:
        read = [(graph, buffer) for one, buffer in tasks for graph in one.reads(buffer)]
        self.inner.rebind(job, read)

    def replay(self, graph: _Graph) -> None:
        if not graph.parts:
            self.inner.replay(graph.graph)
            return
        with torch.inference_mode(False), torch.no_grad():
            self._compare(graph)

    def _compare(self, graph: _Graph) -> None:
        wait = self.comparing.device.synchronize
        wait()
        before = graph.now()
        self.inner.replay(graph.graph)
        wait()
        whole = graph.now()
        graph.back(before)
        self.comparing.replays += 1
        for part in graph.parts:
            _, stream, job, _ = part.step
            before = graph.now()
            stream.replay(part.graph)
            wait()
            alone = graph.now()
            graph.back(before)
            stream.run(job)
            wait()
            if self._differs(graph, part, alone):
                break
        else:
            self._differs(graph, None, whole)
        graph.back(whole)

    def _differs(self, graph: _Graph, part: _Part | None, found: list[torch.Tensor]) -> bool:
        """Whether what a graph left is not what is there now; notes where first."""
        for tensor, value in zip(graph.written, found, strict=True):
            apart = _apart(value, tensor, self.comparing.exact)
            if not apart.any():
                continue
            index = tuple(apart.nonzero()[0].tolist())
            _, _, job, _ = (part or _last_with(graph, tensor)).step
            self.comparing.note(
                Difference(
                    graph.name,
                    job.name,
                    job.place,
                    part is not None,
                    _name(job, tensor),
                    index,
                    self.round,
                    value[index].item(),
                    tensor[index].item(),
                )
            )
            return True
        return False


def _apart(a: torch.Tensor, b: torch.Tensor, exact: bool) -> torch.Tensor:
    """Element by element."""
    if a.is_floating_point() and not exact:
        return ~torch.isclose(a, b, rtol=OF_VALUE, atol=NEAR, equal_nan=True)
    if a.is_floating_point():
        return a.view(_BITS[a.element_size()]) != b.view(_BITS[a.element_size()])
    return a != b


_BITS = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


def _last_with(graph: _Graph, tensor: torch.Tensor) -> _Part:
    """The last phase that has a tensor, which left it as it is."""
    return [part for part in graph.parts if _name(part.step[2], tensor)][-1]


def _name(job: Any, tensor: torch.Tensor) -> str:
    """What a phase calls the memory of a tensor; empty if it has no part of it."""
    found = [
        name for name, value in job.keywords.items() if storage_of(tensor) in memory_of([value])
    ]
    return found[0] if found else ""
