"""`plait doctor` says what of a machine can be used, and why not the rest."""

from __future__ import annotations

import json
import platform
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from plait import __version__
from plait.cli import main
from plait.runtime.devices.named import NAMES
from plait.runtime.devices.replayers import here


@pytest.fixture
def without_a_compiler(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("CXX", "no-such-compiler")
    here.cache_clear()
    yield
    here.cache_clear()


@pytest.fixture
def launched(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("RANK", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "2")


def test_it_is_one_screen(without_a_compiler, launched, tmp_path: Path, capsys) -> None:
    """Here with a compiler that is not there: torch's interpreter is next, and it is said why."""
    assert main(["doctor"]) == 0
    lines = capsys.readouterr().out.splitlines()
    devices = [line for line in lines if line.startswith("device ")]
    assert devices[0] == "device cpu     can be used" and len(devices) == len(NAMES)
    assert [line for line in lines if line not in devices] == [
        f"plait          {__version__}",
        f"python         {platform.python_version()} ({sys.executable})",
        f"platform       {platform.platform()}",
        f"torch          {torch.__version__}",
        "graphs on cpu  interpreter: replay of recorded kernels from torch's interpreter",
        "               not native: there is no C++ compiler no-such-compiler, as CXX says",
        "C++ compiler   none: there is no C++ compiler no-such-compiler, as CXX says",
        f"cache          {tmp_path / 'plait'}",
        "ranks          RANK=1 WORLD_SIZE=2",
    ]


def test_what_is_asked_for_must_be_there(capsys) -> None:
    """Exit 3 for a device that cannot be used, with why; the rest is said all the same."""
    assert main(["doctor", "--device", "cpu"]) == 0
    assert main(["doctor", "--device", "abacus"]) == 3
    assert "\ndevice abacus  no: there is no device `abacus`; this Plait runs on cpu, " in (
        capsys.readouterr().out
    )


def test_it_is_data_too(monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    """A tier that the environment asks for is the one in use, and that it does is part of it."""
    monkeypatch.setenv("PLAIT_CPU_REPLAY", "python")
    assert main(["doctor", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["devices"]["cpu"] is None and found["torch_missing"] is None
    kind = "python: replay of recorded kernels from Python"
    assert found["cpu_replay"] == {
        "tier": "python",
        "kind": kind,
        "asked": "python",
        "not_here": {},
    }
    monkeypatch.setenv("PLAIT_CPU_REPLAY", "fortran")
    assert main(["doctor", "--device", "cpu"]) == 3
    assert "device cpu     no: PLAIT_CPU_REPLAY=fortran: kernels are" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("hidden", "said"),
    [
        ("None", "it is not installed: pip install 'plait[run]'"),
        ("Broken()", "it does not load: libascend_hal.so: cannot open shared object file"),
    ],
)
def test_it_runs_without_torch(hidden: str, said: str) -> None:
    """Which is then the first thing that it says, and no device can be used."""
    program = f"""
import sys
from plait.cli import main
class Broken:
    def find_spec(self, name, path=None, target=None):
        if name == "torch":
            raise ImportError("libascend_hal.so: cannot open shared object file")
if {hidden} is None:
    sys.modules["torch"] = None
else:
    sys.meta_path.insert(0, Broken())
sys.exit(main(["doctor", "--device", "cpu"]))
"""
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (3, "")
    lines = done.stdout.splitlines()
    assert f"torch          none: {said}" in lines
    assert f"device cpu     no: torch {said.removeprefix('it ')}" in lines
    assert not any(line.startswith("graphs on cpu") for line in lines)
