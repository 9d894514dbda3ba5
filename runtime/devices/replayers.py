"""Which way captured kernels are launched again, chosen by name or by the environment."""

from __future__ import annotations

import os

from plait.runtime.devices.base import DeviceError
from plait.runtime.devices.graph import PythonReplayer, Replayer

VARIABLE = "PLAIT_CPU_REPLAY"
KINDS = ("python", "native")


def replayer(kind: str | None = None) -> Replayer:
    """`python` needs nothing; `native` needs a C++ compiler, once, and takes the interpreter's lock out
    of the way. None: what PLAIT_CPU_REPLAY says, else `python`. Raises DeviceError for another name.
    """
    kind = kind or os.environ.get(VARIABLE) or "python"
    if kind == "python":
        return PythonReplayer()
    if kind == "native":
        from plait.runtime.devices.native import native_replayer

        return native_replayer()
    raise DeviceError(f"{VARIABLE}={kind}: kernels are replayed from {' or '.join(KINDS)}")
