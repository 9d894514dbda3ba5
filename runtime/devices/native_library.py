"""The C++ replayer as a library: built by the machine's compiler, once, and kept in the user's cache.

It is kept under the same rules as the parser's tables: in a folder that is the user's own and closed
to others. A file beside it has its SHA-256, for to load half a library ends the process. A build that
failed is noted, so that not every process tries again.
"""

from __future__ import annotations

import fcntl
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
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

SOURCE = Path(__file__).with_name("native.cpp")
BUILD_SECONDS = 300
REASON = 500
"""Characters kept of why a build failed."""

log = logging.getLogger("plait")


def library(again: bool = False) -> Path:
    """The built library; `again`: tries to build it even if that failed before.

    Raises OSError, ValueError or SubprocessError when there is none and none can be made.
    """
    import torch  # here, for the rest is asked of machines without it, too

    source = SOURCE.read_bytes()
    suffix = sysconfig.get_config_var("EXT_SUFFIX") or ".so"
    key = [source, torch.__version__, suffix, platform.machine(), sys.executable]
    digest = hashlib.sha256(repr(key).encode()).hexdigest()[:24]
    kept = cache_folder() / f"replay-{digest}.so"
    if not _is_whole(kept):
        command = compiler()
        with _alone(kept):
            if not _is_whole(kept):  # nobody built it meanwhile
                if not again:
                    _recall(kept, command)
                build(kept)
    return kept


def build(kept: Path) -> None:
    """Builds it. Raises what `library` raises."""
    command = compiler()
    log.info("building the C++ replayer, once: about 10 seconds")
    try:
        _build(kept, command)
    except (OSError, subprocess.SubprocessError) as error:
        _failure(kept).write_text(f"{shlex.join(command)}\n{reason(error)}\n", encoding="utf-8")
        raise
    _failure(kept).unlink(missing_ok=True)


def compiler() -> list[str]:
    """Its command. Raises OSError where there is none, ValueError for a CXX that is no command."""
    if asked := shlex.split(os.environ.get("CXX", "")):
        if shutil.which(asked[0]) is None:
            raise OSError(f"there is no C++ compiler {asked[0]}, as CXX says")
        return asked
    found = shutil.which("g++") or shutil.which("clang++")
    if found is None:
        raise OSError("there is no C++ compiler: install g++")
    return [found]


def cache_folder() -> Path:
    """The user's own `plait` cache. Raises OSError where there is no safe one."""
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    folder = Path(base, "plait")
    if folder.is_absolute():
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if _is_ours(folder, stat.S_ISDIR):
            return folder
    raise OSError(f"{folder} is not a folder that only its user can write")


def reason(error: Exception) -> str:
    """Why there is no library, in a line."""
    said = str(error)
    if isinstance(error, subprocess.TimeoutExpired):
        said = f"{error.cmd[0]} took more than {BUILD_SECONDS} s"
    elif isinstance(error, subprocess.CalledProcessError):
        said = error.stderr.strip() or f"{error.cmd[0]} ended with {error.returncode}"
    lines = said.splitlines() or [type(error).__name__]
    telling = next((line for line in lines if "error" in line.lower()), lines[0])
    return telling.strip()[:REASON]


@contextmanager
def _alone(kept: Path) -> Iterator[None]:
    """One process at a time: others wait for the build of the first."""
    with kept.with_suffix(".lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _recall(kept: Path, command: list[str]) -> None:
    """Raises OSError if this compiler failed before."""
    note = _failure(kept)
    if _is_ours(note, stat.S_ISREG):
        with_what, _, why = note.read_text(encoding="utf-8", errors="replace").partition("\n")
        if with_what == shlex.join(command):
            raise OSError(f"its build failed before: {why.strip()[:REASON]}")


def _failure(kept: Path) -> Path:
    return kept.with_suffix(".failed")


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


def _build(kept: Path, command: list[str]) -> None:
    import torch

    root = Path(torch.__file__).parent
    with tempfile.TemporaryDirectory(dir=kept.parent) as work:
        fresh = Path(work, "replay.so")
        whole = [
            *command,
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
        subprocess.run(whole, check=True, capture_output=True, text=True, timeout=BUILD_SECONDS)
        digest = Path(work, "sha256")
        digest.write_bytes(_digest(fresh))
        os.replace(fresh, kept)
        os.replace(digest, _beside(kept))


def _is_ours(path: Path, kind: Callable[[int], bool]) -> bool:
    try:
        found = path.lstat()
    except OSError:
        return False
    closed = not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    return kind(found.st_mode) and closed and found.st_uid == os.getuid()
