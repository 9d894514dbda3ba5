"""Wheels of torch_npu, fetched once and kept, of which only the sources are read."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import zipfile
from functools import cache
from pathlib import Path

import pytest

from contracts.sources import Module

VERSIONS = ("2.6.0.post5", "2.12.0.post3", "2.13.0", "2.14.0")
"""The oldest that the `npu` extra takes, the one that is conformed to, and its neighbours."""
PLATFORMS = ("manylinux_2_28_x86_64", "manylinux_2_17_x86_64")
"""One of them has a wheel of every version; its sources are those of all others."""
UNREACHED = "no package registry is reached"


@cache
def npu(version: str) -> Module:
    """The module `torch.npu` of that version."""
    with zipfile.ZipFile(fetched(version)) as wheel:
        kept = {
            name: wheel.read(name).decode()
            for name in wheel.namelist()
            if name.endswith(".py") and name.count("/") <= 2
        }
    return Module("torch_npu/npu", kept.__getitem__)


def cache_folder() -> Path:
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home) / "plait-tests"


def fetched(version: str) -> Path:
    folder = cache_folder()
    kept = folder / f"torch_npu-{version}.whl"
    if not kept.exists():
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder) as made:
            _download(version, Path(made))
            next(Path(made).glob("*.whl")).rename(kept)
    return kept


def _download(version: str, into: Path) -> None:
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--retries=2", "--no-deps"]
    asked = ["--dest", str(into), "--only-binary=:all:", "--python-version=3.11", "--abi=cp311"]
    asked += [f"--platform={platform}" for platform in PLATFORMS]
    command = [*pip, *asked, f"torch_npu=={version}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    if done.returncode:
        if os.environ.get("CI"):
            pytest.fail(f"{UNREACHED}: {done.stderr.strip()}")
        pytest.skip(UNREACHED)
