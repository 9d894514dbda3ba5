"""Whether a body leaves the capture it is part of as it found it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from torch.utils._python_dispatch import (
    _get_current_dispatch_mode_stack,
    _pop_mode,
    _push_mode,
)

from plait.runtime.checked.declared import CheckError


@contextmanager
def left_alone() -> Iterator[None]:
    """Raises CheckError when a body has ended a capture, or begun one: on the CPU, a mode of torch."""
    modes = list(_get_current_dispatch_mode_stack())
    yield
    if list(_get_current_dispatch_mode_stack()) != modes:
        while len(_get_current_dispatch_mode_stack()):
            _pop_mode()
        for mode in modes:
            _push_mode(mode)
        raise CheckError(
            "ends a capture, or leaves one begun: a body leaves the schedule's captures alone; take the "
            "phase out of the capture, or the library that captures out of the body"
        )
