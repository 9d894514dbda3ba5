"""Devices by the names that commands and `bind` take."""

from __future__ import annotations

from typing import TYPE_CHECKING

from plait.runtime.devices.base import Device, DeviceError

if TYPE_CHECKING:
    from plait.runtime.trace import Trace

NAMES = ("cpu",)


def device(name: str, trace: Trace | None = None) -> Device:
    """A new device of that name; with `trace`, everything that runs is noted in it.

    Raises DeviceError for one that is not here.
    """
    if name == "cpu":
        from plait.runtime.devices.cpu import Cpu
        from plait.runtime.devices.replayers import replayer

        launch = replayer()
        return Cpu(launch) if trace is None else Cpu(launch, trace.stream, trace.host)
    raise DeviceError(f"there is no device `{name}`; this Plait runs on {', '.join(NAMES)}")
