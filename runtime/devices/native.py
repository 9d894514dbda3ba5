"""Launches recorded kernels from C++: `native.cpp`, built once for each version of torch, then kept.

A whole segment runs without the interpreter's lock, so streams overlap however small their kernels.
"""

from __future__ import annotations

import ctypes
import logging
import subprocess
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

from plait.runtime.devices import native_library
from plait.runtime.devices.recording import Kernel
from plait.runtime.devices.tiers import NotHere, NotTaken

MESSAGE = 2000
"""Bytes kept of an error's text."""

log = logging.getLogger("plait")


class NativeError(RuntimeError):
    """A kernel failed while it was replayed."""


def native_replayer(again: bool = False) -> NativeReplayer:
    """The C++ replayer, built now if need be; `again`: even if that failed before. Raises NotHere."""
    try:
        kept = native_library.library(again)
        try:
            return NativeReplayer(kept)
        except (OSError, AttributeError) as error:  # whole, but not what is needed
            log.info("building the C++ replayer again: %s", error)
            native_library.build(kept)
            return NativeReplayer(kept)
    except (OSError, AttributeError, ValueError, subprocess.SubprocessError) as error:
        raise NotHere(native_library.reason(error)) from error


class NativeReplayer:
    kind = "native: replay of recorded kernels from C++"

    def __init__(self, path: Path):
        """Raises OSError for a library that cannot be loaded, AttributeError for one of something else."""
        # PyDLL keeps the interpreter's lock, CDLL gives it up for the call.
        self._with_lock = ctypes.PyDLL(str(path))
        self._without_lock = ctypes.CDLL(str(path))
        self._with_lock.segment_new.restype = ctypes.c_void_p
        self._with_lock.segment_free.argtypes = [ctypes.c_void_p]
        message = [ctypes.c_char_p, ctypes.c_size_t]
        self._with_lock.segment_add.argtypes = [
            ctypes.c_void_p,
            ctypes.c_char_p,
            ctypes.c_char_p,
            ctypes.py_object,
            ctypes.py_object,
            *message,
        ]
        self._without_lock.segment_replay.argtypes = [ctypes.c_void_p, *message]

    def function(self, kernels: list[Kernel]) -> Callable[[], object]:
        """Raises NotTaken for a kernel whose arguments cannot be taken over."""
        segment = self._with_lock.segment_new()
        message = ctypes.create_string_buffer(MESSAGE)
        for kernel in kernels:
            name, _, overload = kernel.operator.name().partition(".")
            failed = self._with_lock.segment_add(
                segment,
                name.encode(),
                overload.encode(),
                kernel.arguments,
                kernel.into,
                message,
                MESSAGE,
            )
            if failed:
                self._with_lock.segment_free(segment)
                raise NotTaken(_text(message))
        launch = self._without_lock.segment_replay

        def replay() -> None:
            if launch(segment, message, MESSAGE):
                raise NativeError(_text(message))

        weakref.finalize(replay, self._with_lock.segment_free, segment)
        return replay


def _text(message: Any) -> str:
    return message.value.decode("utf-8", "replace")
