"""Launches recorded kernels from C++: `native.cpp`, built once for each version of torch, then kept.

A whole segment runs without the interpreter's lock, so streams overlap however small their kernels.
The library is kept in the user's cache under the same rules as the parser's tables: a folder that is
the user's own and closed to others. A file beside it has its SHA-256, for to load half a library ends
the process. Without a compiler, a header or such a folder there is none.
"""

from __future__ import annotations

import ctypes
import hashlib
import logging
import os
import platform
import shlex
import shutil
import stat
import subprocess
import sys
import sysconfig
import tempfile
import weakref
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import torch

from plait.runtime.devices.graph import PythonReplayer, Replayer
from plait.runtime.devices.recording import Kernel

SOURCE = Path(__file__).with_name("native.cpp")
MESSAGE = 2000
"""Bytes kept of an error's text."""
BUILD_SECONDS = 300

log = logging.getLogger("plait")


class NativeError(RuntimeError):
    """A kernel failed while it was replayed."""


@cache
def native_replayer() -> Replayer:
    """The C++ replayer, built now if need be; where that cannot be, the one in Python."""
    try:
        kept = _library()
        try:
            return NativeReplayer(kept)
        except (OSError, AttributeError) as error:  # whole, but not what is needed
            log.info("building the C++ replayer again: %s", error)
            _build(kept)
            return NativeReplayer(kept)
    except (OSError, AttributeError, ValueError, subprocess.SubprocessError) as error:
        reason = getattr(error, "stderr", None) or error
        log.warning("no C++ replayer: %s", str(reason).strip()[:500])
        return PythonReplayer()


class NativeReplayer:
    kind = "replay of recorded kernels from C++"

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
        """Where arguments of a kernel cannot be taken over, the function is the one in Python."""
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
                log.info("a capture is replayed from Python: %s", _text(message))
                return PythonReplayer().function(kernels)
        launch = self._without_lock.segment_replay

        def replay() -> None:
            if launch(segment, message, MESSAGE):
                raise NativeError(_text(message))

        weakref.finalize(replay, self._with_lock.segment_free, segment)
        return replay


def _text(message: Any) -> str:
    return message.value.decode("utf-8", "replace")


def _library() -> Path:
    """The built library. Raises OSError or CalledProcessError when there is none and none can be made."""
    source = SOURCE.read_bytes()
    suffix = sysconfig.get_config_var("EXT_SUFFIX") or ".so"
    key = [source, torch.__version__, suffix, platform.machine(), sys.executable]
    digest = hashlib.sha256(repr(key).encode()).hexdigest()[:24]
    folder = _cache_folder()
    kept = folder / f"replay-{digest}.so"
    if not _is_whole(kept):
        log.info("building the C++ replayer, once: about 10 seconds")
        _build(kept)
    return kept


def _is_whole(kept: Path) -> bool:
    """Whether it is there, the user's own, and what was built."""
    beside = _beside(kept)
    if not (_is_ours(kept, stat.S_ISREG) and _is_ours(beside, stat.S_ISREG)):
        return False
    return beside.read_bytes() == _digest(kept)


def _beside(kept: Path) -> Path:
    return kept.with_suffix(".sha256")


def _digest(path: Path) -> bytes:
    return hashlib.sha256(path.read_bytes()).hexdigest().encode()


def _compiler() -> list[str]:
    """Its command. Raises OSError where there is none, ValueError for a CXX that is no command."""
    if asked := shlex.split(os.environ.get("CXX", "")):
        return asked
    found = shutil.which("g++") or shutil.which("clang++")
    if found is None:
        raise OSError("there is no C++ compiler")
    return [found]


def _build(kept: Path) -> None:
    compiler = _compiler()
    root = Path(torch.__file__).parent
    with tempfile.TemporaryDirectory(dir=kept.parent) as work:
        fresh = Path(work, "replay.so")
        command = [
            *compiler,
            *("-O1", "-w", "-std=c++20", "-shared", "-fPIC"),
            f"-D_GLIBCXX_USE_CXX11_ABI={int(torch._C._GLIBCXX_USE_CXX11_ABI)}",
            f"-I{root / 'include'}",
            f"-I{sysconfig.get_paths()['include']}",
            str(SOURCE),
            *("-o", str(fresh)),
            f"-L{root / 'lib'}",
            *("-ltorch_cpu", "-ltorch_python", "-lc10"),
            f"-Wl,-rpath,{root / 'lib'}",
        ]
        subprocess.run(command, check=True, capture_output=True, text=True, timeout=BUILD_SECONDS)
        digest = Path(work, "sha256")
        digest.write_bytes(_digest(fresh))
        os.replace(fresh, kept)
        os.replace(digest, _beside(kept))


def _cache_folder() -> Path:
    """The user's own `plait` cache. Raises OSError where there is no safe one."""
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    folder = Path(base, "plait")
    if folder.is_absolute():
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if _is_ours(folder, stat.S_ISDIR):
            return folder
    raise OSError(f"{folder} is not a folder that only its user can write")


def _is_ours(path: Path, kind: Callable[[int], bool]) -> bool:
    try:
        found = path.lstat()
    except OSError:
        return False
    closed = not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    return kind(found.st_mode) and closed and found.st_uid == os.getuid()
