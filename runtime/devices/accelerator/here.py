"""Whether there is such a device here, and if not, why and what to do."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec

import torch

from plait.runtime.devices.accelerator.kinds import Kind
from plait.runtime.devices.accelerator.names import Calls, calls
from plait.runtime.devices.base import DeviceError


def found(kind: Kind, index: int | None) -> tuple[Calls, int]:
    """What is called on a device of this kind, and its number: the current one unless it is given.

    Raises DeviceError.
    """
    if kind.package and find_spec(kind.package) is None:
        raise DeviceError(f"the device `{kind.name}` needs {kind.package}: {kind.to_build}")
    if not kind.built():
        built = f"the torch that is here ({torch.__version__}) was built without it"
        raise DeviceError(f"the device `{kind.name}` is not there: {built}; {kind.to_build}")
    try:
        if kind.package:
            import_module(kind.package)
        reached = calls(torch.get_device_module(kind.name), kind.names)
        count = reached.count() if reached.is_available() else 0
    except (ImportError, OSError, RuntimeError) as error:
        said = str(error).partition("\n")[0]
        what = f"the device `{kind.name}` does not load: {said}"
        raise DeviceError(f"{what}; {kind.to_load}") from error
    except AttributeError as error:
        what = f"the device `{kind.name}` lacks what graphs need: {error}"
        raise DeviceError(f"{what}; update {kind.package or 'torch'}") from error
    if not count:
        raise DeviceError(f"there is no device `{kind.name}` here; {kind.to_load}")
    if index is not None and index >= count:
        last = f"`{kind.name}:{count - 1}`"
        raise DeviceError(f"there is no device `{kind.name}:{index}`; the last one is {last}")
    return reached, reached.current() if index is None else index
