"""Marks in a profiler's trace: every phase, capture, load and round under its name in the spec.

A mark reads `eagle/accept #17`: the pipeline, the phase or capture, and the round it ran in; that of a
round as a whole is `eagle #17` and spans what the host issues. By these a trace is aligned with its
spec. A device that is not marked has nothing of this about it, so marks that are off cost nothing.

| marker | who records it |
|---|---|
| profiler | `torch.profiler`; what streams of the CPU run, only with `profile_all_threads=True` |
| nvtx | Nsight Systems, on CUDA |
| mstx | the Ascend profiler, on the host and on the stream |
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import Any, Protocol, cast

import torch

from plait.runtime.devices.around import Around, AroundStream
from plait.runtime.devices.base import Device, DeviceError
from plait.runtime.devices.graph import Graph
from plait.runtime.devices.job import Job, job

VARIABLE = "PLAIT_MARKS"


class Marker(Protocol):
    """Opens a range of a profiler's trace on this thread, and closes it."""

    def open(self, text: str) -> Any: ...

    def close(self, opened: Any) -> None: ...


class ProfilerMarker:
    """For `torch.profiler`."""

    def open(self, text: str) -> Any:
        opened = torch.profiler.record_function(text)
        opened.__enter__()
        return opened

    def close(self, opened: Any) -> None:
        opened.__exit__(None, None, None)


class NvtxMarker:
    """For Nsight Systems. Raises DeviceError where torch is built without CUDA."""

    def __init__(self) -> None:
        if torch.version.cuda is None:
            raise DeviceError(
                "marks `nvtx`: this torch is built without CUDA; `profiler` is for any"
            )

    def open(self, text: str) -> Any:
        return torch.cuda.nvtx.range_start(text)

    def close(self, opened: Any) -> None:
        torch.cuda.nvtx.range_end(opened)


class MstxMarker:
    """For the Ascend profiler with `mstx=True`. Raises DeviceError where torch_npu is not there."""

    def __init__(self) -> None:
        npu = getattr(torch, "npu", None)
        if npu is None:
            raise DeviceError("marks `mstx`: torch_npu is not there; `profiler` is for any")
        self._npu = npu

    def open(self, text: str) -> Any:
        # With a stream given, the range stands in the device's lane as well.
        return self._npu.mstx.range_start(message=text, stream=self._npu.current_stream())

    def close(self, opened: Any) -> None:
        self._npu.mstx.range_end(opened)


MARKERS: dict[str, Callable[[], Marker]] = {
    "profiler": ProfilerMarker,
    "nvtx": NvtxMarker,
    "mstx": MstxMarker,
}


def marker_named(name: str | None) -> Marker | None:
    """By its name, or by PLAIT_MARKS; None where neither says one. Raises DeviceError."""
    if not (name := name or os.environ.get(VARIABLE)):
        return None
    if name not in MARKERS:
        raise DeviceError(f"marks `{name}`: there are marks for {', '.join(MARKERS)}")
    return MARKERS[name]()


def marked(device: Device, marker: Marker, pipeline: str) -> Device:
    """The device, with all it runs marked."""
    return cast(Device, _Marked(device, marker, pipeline))


class _Marked(Around):
    def __init__(self, device: Device, marker: Marker, pipeline: str):
        super().__init__(device)
        self._marks = marker, pipeline

    def before(self, inner: Any) -> _MarkedStream:
        return _MarkedStream(inner, *self._marks)

    def host(self) -> _MarkedHost:
        return _MarkedHost(self.device.host(), *self._marks)


class _Marking(AroundStream):
    """What a stream and the host share: a range around a job."""

    def __init__(self, inner: Any, marker: Marker, pipeline: str):
        super().__init__(inner)
        self._marker = marker
        self._pipeline = pipeline

    def _text(self, name: str) -> str:
        return f"{self._pipeline}/{name} #{self.round}"

    def _marked(self, done: Job) -> Job:
        marker, text, round = self._marker, self._text(done.name), self.round

        def run() -> None:
            opened = marker.open(text)
            try:
                done()
                done.ran = round
            finally:
                marker.close(opened)

        made = job(done.name, done.place, run)
        made.took = done.took
        return made

    def run(self, job: Job) -> None:
        self.inner.run(self._marked(job))

    def rebind(self, job: Job, tasks: Iterable[tuple[Any, int]]) -> None:
        self.inner.rebind(self._marked(job), tasks)


class _MarkedGraph:
    """A graph whose jobs are marked; all else is its own."""

    def __init__(self, graph: Graph, job: Job, rest: list[tuple[Any, int, Job]]):
        self.graph = graph
        self.job = job
        self.rest = rest

    def __getattr__(self, name: str) -> Any:
        return getattr(self.graph, name)


class _MarkedStream(_Marking):
    def replay(self, graph: Any) -> None:
        if isinstance(graph, Graph):  # of the CPU, where the stream's thread launches it later
            rest = [(event, back, self._marked(job)) for event, back, job in graph.rest]
            self.inner.replay(_MarkedGraph(graph, self._marked(graph.job), rest))
            return
        opened = self._marker.open(self._text(graph.name))
        try:
            self.inner.replay(graph)
        finally:
            self._marker.close(opened)


class _MarkedHost(_Marking):
    _opened: Any = None

    def begin(self, round: int) -> None:
        if self._opened is not None:  # of a round that failed
            self._marker.close(self._opened)
        self._opened = self._marker.open(f"{self._pipeline} #{round}")
        super().begin(round)

    def leave(self) -> None:
        if self._opened is not None:
            self._marker.close(self._opened)
            self._opened = None
        self.inner.leave()
