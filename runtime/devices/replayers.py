"""Which way captured kernels are launched again: the best that is here, or as the environment says."""

from __future__ import annotations

import logging
import os
from functools import cache

from plait.runtime.devices.base import DeviceError
from plait.runtime.devices.graph import PythonReplayer, Replayer
from plait.runtime.devices.tiers import NotHere, Tiers

VARIABLE = "PLAIT_CPU_REPLAY"
KINDS = ("native", "interpreter", "python")
"""The best first. The first two run a whole segment without the interpreter's lock; the first needs a
C++ compiler, once, the second things that torch does not promise, the last nothing."""

log = logging.getLogger("plait")


def replayer(kind: str | None = None) -> Tiers:
    """The best way that is here, and behind it those for what it cannot take over.

    With a kind, or the one that PLAIT_CPU_REPLAY says, none better than that. Raises DeviceError for
    another name.
    """
    asked = kind or os.environ.get(VARIABLE)
    if asked and asked not in KINDS:
        raise DeviceError(f"{VARIABLE}={asked}: kernels are replayed from {' or '.join(KINDS)}")
    found = [here(one, again=one == asked) for one in KINDS[KINDS.index(asked or KINDS[0]) :]]
    if asked and isinstance(found[0], NotHere):
        log.warning("%s=%s: %s", VARIABLE, asked, found[0])
    return Tiers([one for one in found if not isinstance(one, NotHere)])


@cache
def here(kind: str, again: bool = False) -> Replayer | NotHere:
    """One way by its name, or why it is not here; `again`: even if what it needs failed before."""
    try:
        if kind == "native":
            from plait.runtime.devices.native import native_replayer

            return native_replayer(again)
        if kind == "interpreter":
            from plait.runtime.devices.interpreted import interpreted_replayer

            return interpreted_replayer()
    except NotHere as error:
        return error
    return PythonReplayer()
