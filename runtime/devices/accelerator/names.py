"""Every name that is used of `torch.npu` and `torch.cuda`, with the keywords that it is called with.

Nothing else here reaches into either module, so that `tests/contracts` can hold this table against the
sources of any version of them, on a machine that has no such device.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from operator import attrgetter
from typing import Any


@dataclass(frozen=True)
class Name:
    """A function, a class, or a method called with its object in front."""

    path: str
    keywords: tuple[str, ...] = ()


@dataclass(frozen=True)
class Calls:
    """What is called, by what it does here. A kind of device that lacks one has None."""

    is_available: Callable[..., Any]
    count: Callable[..., Any]
    current: Callable[..., Any]
    set_device: Callable[..., Any]
    synchronize: Callable[..., Any]
    stream: Callable[..., Any]
    current_stream: Callable[..., Any]
    set_stream: Callable[..., Any]
    finish: Callable[..., Any]
    """Holds the host up until a stream is done."""
    event: Callable[..., Any]
    record: Callable[..., Any]
    wait: Callable[..., Any]
    wait_on_host: Callable[..., Any]
    external: Callable[..., Any]
    record_external: Callable[..., Any]
    wait_external: Callable[..., Any]
    graph: Callable[..., Any]
    capture_begin: Callable[..., Any]
    capture_end: Callable[..., Any]
    replay: Callable[..., Any]
    reset: Callable[..., Any]
    pool: Callable[..., Any]
    reserved: Callable[..., Any]
    """Bytes that the allocator holds."""
    reset_external: Callable[..., Any] | None = None
    task_begin: Callable[..., Any] | None = None
    task_end: Callable[..., Any] | None = None
    update_begin: Callable[..., Any] | None = None
    update_end: Callable[..., Any] | None = None


COMMON = {
    "is_available": Name("is_available"),
    "count": Name("device_count"),
    "current": Name("current_device"),
    "set_device": Name("set_device", ("device",)),
    "synchronize": Name("synchronize", ("device",)),
    "stream": Name("Stream", ("device",)),
    "current_stream": Name("current_stream", ("device",)),
    "set_stream": Name("set_stream", ("stream",)),
    "finish": Name("Stream.synchronize"),
    "event": Name("Event"),
    "record": Name("Event.record", ("stream",)),
    "wait": Name("Event.wait", ("stream",)),
    "wait_on_host": Name("Event.synchronize"),
    "pool": Name("graph_pool_handle"),
    "reserved": Name("memory_reserved", ("device",)),
}


def _graph(name: str) -> dict[str, Name]:
    return {
        "graph": Name(name),
        "capture_begin": Name(f"{name}.capture_begin", ("pool", "capture_error_mode")),
        "capture_end": Name(f"{name}.capture_end"),
        "replay": Name(f"{name}.replay"),
        "reset": Name(f"{name}.reset"),
    }


NPU = {
    **COMMON,
    **_graph("NPUGraph"),
    "external": Name("ExternalEvent"),
    "record_external": Name("ExternalEvent.record", ("stream",)),
    "wait_external": Name("ExternalEvent.wait", ("stream",)),
    "reset_external": Name("ExternalEvent.reset", ("stream",)),
    "task_begin": Name("graph_task_group_begin", ("stream",)),
    "task_end": Name("graph_task_group_end", ("stream",)),
    "update_begin": Name("graph_task_update_begin", ("stream", "handle")),
    "update_end": Name("graph_task_update_end", ("stream",)),
}
CUDA = {
    **COMMON,
    **_graph("CUDAGraph"),
    "external": Name("Event", ("external",)),
    "record_external": Name("Event.record", ("stream",)),
    "wait_external": Name("Event.wait", ("stream",)),
}


def calls(module: Any, names: dict[str, Name]) -> Calls:
    """The names of a table, found in a module. Raises AttributeError for one that is not there."""
    made = {field.name: names[field.name] for field in fields(Calls) if field.name in names}
    return Calls(**{key: attrgetter(name.path)(module) for key, name in made.items()})
