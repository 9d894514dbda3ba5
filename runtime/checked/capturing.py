"""Whether a body leaves the capture it is part of as it found it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from torch.utils._python_dispatch import (
    _get_current_dispatch_mode_stack,
    _pop_mode,
    _push_mode,
)

from plait.runtime.checked.declared import CheckError


@contextmanager
def left_alone(capturing: Callable[[], Any] | None) -> Iterator[None]:
    """Raises CheckError when a body has ended a capture, or begun one.

    `capturing` is what the device says of the current stream's capture; the CPU's is a mode of torch.
    """
    modes = list(_get_current_dispatch_mode_stack())
    state = capturing() if capturing else None
    yield
    now = list(_get_current_dispatch_mode_stack())
    if now != modes:
        while len(_get_current_dispatch_mode_stack()):
            _pop_mode()
        for mode in modes:
            _push_mode(mode)
    if now != modes or (capturing and capturing() != state):
        raise CheckError(
            "ends a capture, or leaves one begun: a body leaves the schedule's captures alone; take the "
            "phase out of the capture, or the library that captures out of the body"
        )
