"""The device of checked mode: every body is watched, and fails where its phase's text does not cover it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, cast

import torch

from plait.runtime.checked.apart import Apart
from plait.runtime.checked.capturing import left_alone
from plait.runtime.checked.declared import Access, Buffers, CheckError, Declared, access
from plait.runtime.checked.extent import Extent, both
from plait.runtime.checked.rows import check_rows
from plait.runtime.checked.shared import Shared
from plait.runtime.checked.slots import Slots
from plait.runtime.checked.watch import Calls, Watch
from plait.runtime.devices.base import Device
from plait.runtime.devices.refusals import CaptureError
from plait.runtime.schedule import Kind, Phase, Region, Schedule

_STRENGTH: dict[Kind, int] = {"reads": 0, "writes": 1, "updates": 2}


class Checker:
    """`device()` is what a schedule is bound on; `knows` is told the buffers when that is done.

    A phase in a capture is checked when it is captured: its replays launch the same kernels on the same
    memory.
    """

    def __init__(self, schedule: Schedule, device: Device):
        self.schedule = schedule
        self.inner = device
        self.buffers = Buffers()
        self.shared = Shared()
        self.slots = Slots(schedule)
        self.apart = Apart(schedule)
        self.streams: list[Any] = []
        self.stream: Callable[[], object] | None = getattr(device, "current_stream", None)
        self.partly = _partly(schedule)
        self.capturing = False
        self.called: dict[int, tuple[Any, Callable, dict[str, Any]]] = {}
        """Of every job, by identity: the job, its body and what that is given."""

    def rows(self, job: Any, body: Callable, arguments: dict[str, Any]) -> None:
        """Has the rows of a captured phase checked."""
        number, _ = self._phase(job.name, job.place, set(arguments))
        check_rows(self.schedule, number, body, arguments, self.inner.shadow)

    def device(self) -> Device:
        return cast(Device, _Checked(self))

    def knows(self, copies: dict[str, list[Any]]) -> None:
        for name, values in copies.items():
            self.buffers.add(name, self.inner.tensors(values))

    def body(
        self, name: str, place: str, body: Callable, arguments: dict[str, Any]
    ) -> Callable[..., None]:
        """The body of a phase, watched."""
        number, phase = self._phase(name, place, set(arguments))
        kinds = self._kinds(name, place)
        names = {a.name: self.schedule.buffers[a.buffer].name for a in phase.arguments}
        accesses = {
            argument: access(names[argument], kinds[argument], self.inner.tensors(value))
            for argument, value in arguments.items()
        }
        for one in accesses.values():
            self.buffers.add(one.buffer, one.tensors)
        declared = Declared(name, list(accesses.values()))
        vouched = self.apart.vouched(phase, number)
        return partial(self._run, phase, declared, accesses, vouched, body)

    def _run(
        self,
        phase: Phase,
        declared: Declared,
        accesses: dict[str, Access],
        vouched: dict[str, set[Region]],
        body: Callable,
        /,
        **given: Any,
    ) -> None:
        addresses = {name: one.extent[0][0] if one.extent else 0 for name, one in accesses.items()}
        counted = not self.capturing
        if counted:
            self.slots.begins(phase, addresses)
        parts: Extent = ()
        for name in vouched if counted else ():
            parts = both(parts, accesses[name].extent)
        whole = [
            one
            for argument in phase.arguments
            if argument.buffer not in self.partly
            for one in [accesses[argument.name]]
        ]
        before = [(one, tensor, tensor._version) for one in whole for tensor in one.tensors]
        watch = Watch(declared, self.buffers, self.shared, self.stream, parts)
        with torch.no_grad(), watch, Calls(watch), left_alone():
            body(**given)
        watch.at_home("its end")
        for one, tensor, version in before:
            if tensor._version != version and not watch.wrote(tensor, one.extent):
                raise CheckError(
                    f"`{one.buffer}` changed while it ran, and not by its kernels on its own stream: by a "
                    "thread of its body, or by a phase that should wait for it"
                )
        if counted:
            self._came(phase, accesses, vouched, watch.touched)
            self.slots.ends(phase, addresses)

    def _came(
        self,
        phase: Phase,
        accesses: dict[str, Access],
        vouched: dict[str, set[Region]],
        touched: Extent,
    ) -> None:
        round = getattr(self.streams[phase.stream], "round", 0)
        for argument in phase.arguments:
            if argument.name in vouched:
                mine = _common(touched, accesses[argument.name].extent)
                self.apart.came(phase.name, round, argument.buffer, vouched[argument.name], mine)

    def _phase(self, name: str, place: str, arguments: set[str]) -> tuple[int, Phase]:
        for number, phase in enumerate(self.schedule.phases):
            found = (phase.name, self.schedule.place_of(phase.place))
            if found == (name, place) and {a.name for a in phase.arguments} == arguments:
                return number, phase
        raise CheckError(f"{place}: the schedule has no phase `{name}` of these arguments")

    def _kinds(self, name: str, place: str) -> dict[str, Kind]:
        """How each argument is declared; the most of what the phase declares on any route."""
        kinds: dict[str, Kind] = {}
        for phase in self.schedule.phases:
            if (phase.name, self.schedule.place_of(phase.place)) == (name, place):
                for one in phase.arguments:
                    known = kinds.get(one.name, one.kind)
                    kinds[one.name] = max(known, one.kind, key=_STRENGTH.__getitem__)
        return kinds


class _Checked:
    """The device as the runner sees it; all else is the device's own."""

    def __init__(self, checker: Checker):
        self._checker = checker
        self._inner = checker.inner

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def host(self) -> Any:
        made = self._inner.host()
        self._checker.streams.append(made)
        return made

    def stream(self, name: str, kind: str) -> Any:
        made = self._inner.stream(name, kind)
        self._checker.streams.append(made)
        return made

    def call(self, name: str, place: str, body: Callable, arguments: dict[str, Any]) -> Any:
        watched = self._checker.body(name, place, body, arguments)
        made = self._inner.call(name, place, watched, arguments)
        self._checker.called[id(made)] = made, body, arguments
        return made

    def capture(self, *asked: Any) -> Any:
        for op, _, what, _ in asked[2]:
            if op in ("run", "task"):
                try:
                    self._checker.rows(*self._checker.called[id(what)])
                except CheckError as error:
                    raise CaptureError(
                        f"{what.place}: `{what.name}`: CheckError: {error}"
                    ) from error
        self._checker.capturing = True
        try:
            return self._inner.capture(*asked)
        finally:
            self._checker.capturing = False


def _partly(schedule: Schedule) -> set[int]:
    """Buffers of which some phase uses a region: another may change the rest of it meanwhile."""
    found = set()
    for bucket in schedule.buckets:
        for phase, regions in zip(schedule.phases, bucket.regions, strict=True):
            for argument, region in zip(phase.arguments, regions, strict=False):
                if region is not None:
                    found.add(argument.buffer)
    return found


def _common(a: Extent, b: Extent) -> Extent:
    """The bytes that are in both."""
    found = []
    for start, end in a:
        found += [(max(start, s), min(end, e)) for s, e in b if s < end and start < e]
    return tuple(found)
