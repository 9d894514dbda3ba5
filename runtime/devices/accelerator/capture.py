"""How a graph is captured.

By `capture_begin` and `capture_end`, not by the context managers around them: those flush the caches
of the allocator for every graph, leave the current stream changed when beginning or ending fails, and
take a graph for whole whose body has raised.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

import torch

from plait.runtime.devices.accelerator.graph import Graph, Task
from plait.runtime.devices.accelerator.lock import alone
from plait.runtime.devices.accelerator.meanings import meant
from plait.runtime.devices.refusals import CaptureError

if TYPE_CHECKING:
    from plait.runtime.devices.accelerator.accelerator import Accelerator
    from plait.runtime.devices.base import Step

MODE = "global"
"""No thread may do meanwhile what could break a capture."""


def capture(
    device: Accelerator,
    name: str,
    place: str,
    steps: list[Step],
    written: list[torch.Tensor],
    pool: Any,
) -> Graph:
    """Runs the steps once, as a kernel's first launch may do what no capture allows, and captures them.

    What they have written is put back. Raises CaptureError.
    """
    with alone(), _own_stream(device), torch.inference_mode(False), torch.no_grad():
        try:
            _warm_up(device, name, steps, written)
        except CaptureError:
            raise
        except Exception as error:  # as there is no memory to keep what it writes
            raise _refused(device, name, place, error) from error
        numbers = {what for op, _, what, _ in steps if op in ("record", "wait")}
        events = {number: device.calls.event() for number in numbers}
        native = device.calls.graph()
        phases = tuple(what.name for op, _, what, _ in steps if op in ("run", "task"))
        graph = Graph(name, place, phases, native, list(events.values()))
        external = [what for op, _, what, _ in steps if op == "external"]
        held = device.calls.reserved(device=device.index)
        with device.external.asked_anew(external, device.current_stream()):
            _issue_into(device, graph, steps, events, pool)
        device.finish()
        graph.taken = max(device.calls.reserved(device=device.index) - held, 0)
    return graph


@contextmanager
def _own_stream(device: Accelerator) -> Iterator[None]:
    """Around what changes the current stream."""
    before = device.current_stream()
    try:
        yield
    finally:
        device.set_stream(before)


def _warm_up(
    device: Accelerator, name: str, steps: list[Step], written: list[torch.Tensor]
) -> None:
    """One stream after the other: in the order of issue, which every order within a graph allows."""
    device.finish()
    kept = [tensor.clone() for tensor in written]
    device.finish()
    last = None
    try:
        for op, stream, what, _ in steps:
            if op not in ("run", "task"):
                continue
            with _explained(device, name, what):
                if last is not stream:
                    device.finish()
                    device.set_stream(stream.native)
                    last = stream
                what()
    finally:
        device.finish()
        for tensor, value in zip(written, kept, strict=True):
            tensor.copy_(value)
        device.finish()


def _issue_into(
    device: Accelerator,
    graph: Graph,
    steps: list[Step],
    events: dict[int, Any],
    pool: Any,
) -> None:
    calls = device.calls
    origin = steps[0][1].native
    try:
        device.set_stream(origin)
        calls.capture_begin(graph.native, pool=pool, capture_error_mode=MODE)
    except Exception as error:
        raise _refused(device, graph.name, graph.place, error) from error
    try:
        _issue(device, graph, steps, events)
    except BaseException:
        device.set_stream(origin)
        with suppress(Exception):  # it is said already what failed, and to end it is to fail again
            calls.capture_end(graph.native)
        _drop(device, graph)
        raise
    try:
        device.set_stream(origin)
        calls.capture_end(graph.native)
    except Exception as error:
        _drop(device, graph)
        raise _refused(device, graph.name, graph.place, error) from error


def _issue(
    device: Accelerator, graph: Graph, steps: Iterable[Step], events: dict[int, Any]
) -> None:
    calls = device.calls
    for op, stream, what, numbers in steps:
        native = stream.native
        device.set_stream(native)
        try:
            if op == "run":
                with _explained(device, graph.name, what):
                    what()
            elif op == "task":
                with _explained(device, graph.name, what):
                    task = _task(device, native, what)
                for buffer in numbers:
                    graph.tasks.setdefault(buffer, []).append(task)
            elif op == "record":
                calls.record(events[what], stream=native)
            elif op == "wait":
                calls.wait(events[what], stream=native)
            else:
                device.external.wait(what, native)
                graph.external.append((what, next(iter(numbers), 0)))
        except CaptureError:
            raise
        except Exception as error:
            raise _refused(device, graph.name, graph.place, error) from error


def _task(device: Accelerator, native: Any, job: Any) -> Task:
    calls = device.calls
    if calls.task_begin is None or calls.task_end is None:
        job()  # the graph reads the parameters where they lie
        return Task(job, None)
    calls.task_begin(stream=native)
    try:
        job()
    finally:
        handle = calls.task_end(stream=native)
    return Task(job, handle)


@contextmanager
def _explained(device: Accelerator, name: str, job: Any) -> Iterator[None]:
    try:
        yield
    except Exception as error:
        said = meant(error, device.kind.meanings)
        found = f"{job.place}: `{job.name}` failed while it was captured in `{name}`"
        raise CaptureError(f"{found}: {type(said).__name__}: {said}") from error


def _refused(device: Accelerator, name: str, place: str, error: Exception) -> CaptureError:
    said = meant(error, device.kind.meanings)
    return CaptureError(f"{place}: `{name}` was not captured on {device.name}: {said}")


def _drop(device: Accelerator, graph: Graph) -> None:
    """What was captured of it is half a graph, which would replay."""
    with suppress(Exception):
        device.calls.reset(graph.native)
