"""Devices by the names that commands and `bind` take."""

from __future__ import annotations

from typing import TYPE_CHECKING

from plait.runtime.devices.base import Device, DeviceError

if TYPE_CHECKING:
    from plait.runtime.trace import Trace

NAMES = ("cpu", "adversary")


def device(name: str, trace: Trace | None = None, seed: int = 0) -> Device:
    """A new device of that name; with `trace`, everything that runs is noted in it.

    `seed` is for the adversary.

    Raises DeviceError for one that is not here.
    """
    if name == "cpu":
        from plait.runtime.devices.cpu import Cpu
        from plait.runtime.devices.replayers import replayer

        launch = replayer()
        return Cpu(launch) if trace is None else Cpu(launch, trace.stream, trace.host)
    if name == "adversary":
        from plait.runtime.devices.adversary.device import Adversary

        if trace is not None:
            raise DeviceError("the adversary keeps no time that a trace could show")
        return Adversary(seed)
    raise DeviceError(f"there is no device `{name}`; this Plait runs on {', '.join(NAMES)}")
