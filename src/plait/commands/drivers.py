"""What the drivers of accelerators have put on this machine: libraries, device files, and what shows them."""

from __future__ import annotations

import ctypes
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Driver:
    libraries: tuple[str, ...]
    """By the names that torch's backends are linked with."""
    files: str
    """Those of the devices, one each, in /dev."""
    variables: tuple[str, ...]
    """That say where it is, or which devices are visible."""
    mend: str


DRIVERS = {
    "npu": Driver(
        ("libascend_hal.so", "libascendcl.so", "libhccl.so"),
        "davinci[0-9]*",
        ("ASCEND_HOME_PATH", "ASCEND_RT_VISIBLE_DEVICES"),
        "install Ascend's driver and CANN, and source CANN's set_env.sh",
    ),
    "cuda": Driver(
        ("libcuda.so.1",), "nvidia[0-9]*", ("CUDA_VISIBLE_DEVICES",), "install NVIDIA's driver"
    ),
}


def drivers() -> dict[str, dict[str, Any]]:
    """Of each kind of device which libraries load, why others do not, and how many devices there are."""
    return {kind: _found(driver) for kind, driver in DRIVERS.items()}


def _found(driver: Driver) -> dict[str, Any]:
    libraries = {name: _missing(name) for name in driver.libraries}
    return {
        "libraries": libraries,
        "device_files": len(list(Path("/dev").glob(driver.files))),
        "variables": {name: os.environ[name] for name in driver.variables if name in os.environ},
        "mend": driver.mend if any(libraries.values()) else None,
    }


def _missing(name: str) -> str | None:
    """Why a library does not load."""
    try:
        ctypes.CDLL(name)
    except OSError as error:
        said = str(error)
        absent = said == f"{name}: cannot open shared object file: No such file or directory"
        return "is not found" if absent else f"does not load: {said}"
    return None
