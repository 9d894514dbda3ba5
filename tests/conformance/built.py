"""The wheel of torch_npu in a folder of its own, and the fake driver that is built for it.

What the wheel asks of a driver is read from its symbols: what it leaves undefined, less what torch, libc
and Python have. Of that, `fake_driver.c` has what matters; the rest are functions that do nothing, and
say in the log that they were called.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import sysconfig
import tempfile
import zipfile
from collections.abc import Iterable
from pathlib import Path

import torch

from contracts.wheels import cache_folder, fetched

VERSION = "2.13.0"
LIBRARIES = (
    "libascendcl.so",
    *("libhccl.so", "libge_runner.so", "libgraph.so"),
    *("libacl_op_compiler.so", "libacl_tdt_channel.so", "libatb.so"),
)
"""Those of the driver, by the names that the wheel's were linked with; all is in the first."""
SOURCE = Path(__file__).with_name("fake_driver.c")


class Absent(Exception):
    """What the suite stands on is not here."""


def installed() -> Path:
    """The folder to put on `sys.path` for torch_npu: never that of an environment, where it would break
    `import torch` for all. Raises Absent when the wheel is not for this machine, or for this torch.
    """
    if not torch.__version__.startswith(VERSION):
        raise Absent(f"torch is another than {VERSION}")
    folder = cache_folder() / f"torch_npu-{VERSION}"
    if not folder.exists():
        with zipfile.ZipFile(fetched(VERSION)) as wheel:
            with tempfile.TemporaryDirectory(dir=folder.parent) as made:
                wheel.extractall(f"{made}/wheel")
                Path(made, "wheel").rename(folder)
    if not (folder / f"torch_npu/_C{sysconfig.get_config_var('EXT_SUFFIX')}").exists():
        raise Absent(f"the wheel of torch_npu {VERSION} is not for this machine")
    return folder


def build(folder: Path, into: Path) -> list[Path]:
    """The fake's libraries, to be loaded in this order before torch_npu is. Raises Absent without gcc."""
    if shutil.which("gcc") is None or shutil.which("nm") is None:
        raise Absent("no gcc and nm")
    headers = folder / "torch_npu" / "include" / "third_party" / "acl" / "inc"
    stubs = into / "stubs.c"
    stubs.write_text(_stubs(asked_of_a_driver(folder) - _defined(SOURCE, headers, into)))
    made = [into / name for name in LIBRARIES]
    first, *others = made
    _gcc(first, "-I", headers, SOURCE, stubs)
    for library in others:
        _gcc(library, "-Wl,--no-as-needed", f"-L{into}", "-l:libascendcl.so", "-x", "c", os.devnull)
    return made


def asked_of_a_driver(folder: Path) -> set[str]:
    """Functions that the wheel calls and nobody has."""
    own = [*folder.glob("torch_npu/_C*.so"), *folder.glob("torch_npu/lib/*.so")]
    torchs = (Path(torch.__file__).parent / "lib").glob("*.so*")
    missing = _symbols("--undefined-only", own) - _symbols("--defined-only", [*own, *torchs])
    here = ctypes.CDLL(None)
    return {name for name in missing if name.isidentifier() and not hasattr(here, name)}


def _symbols(which: str, libraries: Iterable[Path]) -> set[str]:
    """Without those that are wanted in a version, which only the system's libraries have."""
    found = _run("nm", "--dynamic", which, "--format=posix", *libraries)
    names = [line.split()[0] for line in found.splitlines() if line and not line.endswith(":")]
    if which == "--defined-only":
        return {name.split("@")[0] for name in names}
    weak = {line.split()[0] for line in found.splitlines() if line.split()[1:2] in (["w"], ["v"])}
    return {name for name in names if "@" not in name} - weak


def _defined(source: Path, headers: Path, into: Path) -> set[str]:
    compiled = into / "fake_driver.o"
    _run("gcc", *FLAGS, "-c", "-I", headers, source, "-o", compiled)
    found = _run("nm", "--defined-only", "--extern-only", "--format=posix", compiled)
    return {line.split()[0] for line in found.splitlines()}


def _stubs(names: set[str]) -> str:
    lines = [f'long {name}(void) {{ fake_stub("{name}"); return 0; }}' for name in sorted(names)]
    return "\n".join(["void fake_stub(const char *);", *lines, ""])


FLAGS = ("-std=gnu11", "-O1", "-fPIC", "-Wall", "-Werror", "-Wno-unused-parameter")


def _gcc(library: Path, *given: str | Path) -> None:
    named = ("-shared", f"-Wl,-soname,{library.name}")
    _run("gcc", *FLAGS, *named, "-o", library, *given, "-lpthread")


def _run(*command: str | Path) -> str:
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    if found.returncode:
        raise RuntimeError(f"{command[0]} failed:\n{found.stderr[:2000]}")
    return found.stdout
