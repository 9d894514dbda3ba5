"""One capture at a time in a process: what another thread does meanwhile could break it."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from plait.runtime.devices.refusals import CaptureError

_lock = threading.Lock()
_holder: int | None = None


@contextmanager
def alone() -> Iterator[None]:
    """Around a capture. Raises CaptureError within another one."""
    global _holder
    if _holder == threading.get_ident():
        raise CaptureError("a capture is begun within another")
    with _lock:
        _holder = threading.get_ident()
        collects = gc.isenabled()
        gc.disable()  # a collection could destroy another graph, which a capture forbids
        try:
            yield
        finally:
            _holder = None
            if collects:
                gc.enable()
