"""Devices by the names that commands and `bind` take."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from plait.runtime.devices.base import Device, DeviceError

if TYPE_CHECKING:
    from plait.runtime.trace import Trace

NAMES = ("cpu", "npu", "cuda", "adversary")


def device(name: str, trace: Trace | None = None, seed: int = 0) -> Device:
    """A new device of that name; with `trace`, everything that runs is noted in it.

    `npu:1` is the second NPU. `seed` is for the adversary. Raises DeviceError for one that is not here.
    """
    if name == "cpu":
        from plait.runtime.devices.cpu import Cpu
        from plait.runtime.devices.replayers import replayer

        launch = replayer()
        return Cpu(launch) if trace is None else Cpu(launch, trace.stream, trace.host, trace)
    kind, colon, index = name.partition(":")
    if kind in ("npu", "cuda") and (not colon or re.fullmatch("[0-9]{1,4}", index)):
        from plait.runtime.devices.accelerator.accelerator import Accelerator
        from plait.runtime.devices.accelerator.kinds import KINDS

        if trace is not None:
            raise DeviceError(f"a trace is of the cpu; use torch's profiler on {kind}")
        return Accelerator(KINDS[kind], int(index) if colon else None)
    if name == "adversary":
        from plait.runtime.devices.adversary.device import Adversary

        if trace is not None:
            raise DeviceError("the adversary keeps no time that a trace could show")
        return Adversary(seed)
    raise DeviceError(f"there is no device `{name}`; this Plait runs on {', '.join(NAMES)}")
