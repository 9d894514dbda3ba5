"""`plait doctor` says what of a machine can be used, and why not the rest."""

from __future__ import annotations

import json
import os
import platform
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import torch

from plait import __version__
from plait.cli import main
from plait.commands.backends import backends
from plait.commands.drivers import Driver, drivers
from plait.commands.extras import EXTRAS, extras
from plait.commands.variables import variables
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
    for one in variables(os.environ):
        monkeypatch.delenv(one["name"])
    monkeypatch.setenv("TASK_QUEUE_ENABLE", "2")


def test_it_is_one_screen(launched, without_a_compiler, tmp_path: Path, capsys) -> None:
    """Here with a compiler that is not there: torch's interpreter is next, and it is said why."""
    assert main(["doctor"]) == 0
    lines = capsys.readouterr().out.splitlines()
    devices = [line for line in lines if line.startswith("device ")]
    assert devices[0] == "device cpu     can be used; a thread for every stream"
    assert len(devices) == len(NAMES)
    machines = ("device ", "driver of ", "               to use one: ", "plait[", "torch loads")
    assert [line for line in lines if not line.startswith(machines)] == [
        f"plait          {__version__}",
        f"python         {platform.python_version()} ({sys.executable})",
        f"platform       {platform.platform()}, {len(os.sched_getaffinity(0))} of its cores",
        f"torch          {torch.__version__}",
        "graphs on cpu  interpreter: replay of recorded kernels from torch's interpreter",
        "               not native: there is no C++ compiler no-such-compiler, as CXX says",
        "C++ compiler   none: there is no C++ compiler no-such-compiler, as CXX says",
        f"cache          {tmp_path / 'plait'}",
        "variables      CXX=no-such-compiler, read by Plait, to build the C++ replayer",
        "               TASK_QUEUE_ENABLE=2, read by torch_npu task queue",
        "ranks          RANK=1 WORLD_SIZE=2",
    ]


def test_what_is_asked_for_must_be_there(capsys) -> None:
    """Exit 3 for a device that cannot be used, with why; the rest is said all the same."""
    assert main(["doctor", "--device", "cpu"]) == 0
    assert main(["doctor", "--device", "abacus"]) == 3
    out, err = capsys.readouterr()
    why = "there is no device `abacus`; this Plait runs on cpu, npu, cuda, adversary\n"
    assert f"\ndevice abacus  no: {why}" in out and err == f"plait doctor: {why}"


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
    why_not = f"torch {said.removeprefix('it ')}"
    assert (done.returncode, done.stderr) == (3, f"plait doctor: {why_not}\n")
    lines = done.stdout.splitlines()
    assert f"torch          none: {said}" in lines
    assert f"device cpu     no: {why_not}" in lines
    assert not any(line.startswith("graphs on cpu") for line in lines)


def test_extras_are_those_of_the_package() -> None:
    """By name and oldest version, as pyproject.toml has them."""
    with (Path(__file__).parents[2] / "pyproject.toml").open("rb") as file:
        asked = tomllib.load(file)["project"]["optional-dependencies"]
    for extra, oldest in EXTRAS.items():
        named = [one for one in asked[extra] if not one.startswith("plait[")]
        assert [f"{name}>={version}" for name, version in oldest.items()] == named


def test_a_package_that_is_old_or_not_there_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """With what installs it."""
    newer = {"starlette": "99", "pygls": "2.0", "no-such-package": "1"}
    monkeypatch.setitem(EXTRAS, "lsp", newer)
    missing = extras()["lsp"]["missing"]
    assert re.fullmatch(
        r"starlette [\d.]+ is too old, no-such-package is not installed: pip install 'plait\[lsp\]'",
        missing,
    )


def test_variables_have_their_readers() -> None:
    """And those that nobody reads, or not with that value, are said; a secret is not shown."""
    environment = {
        "HOME": "/root",
        "PLAIT_CHEK": "1",
        "PLAIT_TOKEN": "hush",
        "SGLANG_DISABLE_DRAFT_EXTEND_GRAPH": "1",
        "SGLANG_DISABLE_DRAFT_EXTEND_CUDA_GRAF": "1",
        "SGLANG_DEEPEP_NUM_MAX_DISPATCH_TOKENS_PER_RANK": "4096",
        "STREAMS_PER_DEVICE": "many",
        "TASK_QUEUE_ENABLE": "1",
    }
    found = {one.pop("name"): tuple(one.values()) for one in variables(environment)}
    rows = "SGLANG_DEEPEP_NUM_MAX_DISPATCH_TOKENS_PER_RANK"
    assert found.pop(rows)[2] == "its reader takes at least 1 and at most 1024"
    graph = "SGLANG_DISABLE_DRAFT_EXTEND_CUDA_GRAPH"
    assert found == {
        "PLAIT_CHEK": ("1", [], "Plait does not read it: did you mean PLAIT_CHECK?"),
        "PLAIT_TOKEN": ("(set)", ["plait serve"], None),
        "SGLANG_DISABLE_DRAFT_EXTEND_CUDA_GRAF": (
            *("1", [], f"sglang 0.5.23 does not read it: did you mean {graph}?"),
        ),
        "SGLANG_DISABLE_DRAFT_EXTEND_GRAPH": (
            *("1", [], f"nothing reads it: sglang 0.5.23 reads {graph}"),
        ),
        "STREAMS_PER_DEVICE": (
            *("many", ["torch_npu stream pool"], "is no whole number: correct it"),
        ),
        "TASK_QUEUE_ENABLE": ("1", ["torch_npu task queue"], None),
    }


def test_a_backend_that_ends_its_process_is_told(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A small package stands for one: its entry point aborts, as a driver's library may."""
    (tmp_path / "abacus.py").write_text("import os\n\n\ndef load():\n    os.abort()\n")
    info = tmp_path / "abacus-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: abacus\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[torch.backends]\nabacus = abacus:load\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(one for one in sys.path if one))
    why_not = "ends the process that loads it (-6)"
    assert backends()["abacus"] == {"package": "abacus 1.0", "why_not": why_not}


def test_a_library_of_a_driver_is_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is to be done where all of them load."""
    made = {"clock": Driver(("libc.so.6",), "null", ("HOME",), "wind it")}
    made["abacus"] = Driver(("libabacus.so",), "abacus*", (), "buy one")
    monkeypatch.setattr("plait.commands.drivers.DRIVERS", made)
    monkeypatch.setenv("HOME", "/root")
    assert drivers() == {
        "clock": {
            "libraries": {"libc.so.6": None},
            "device_files": 1,
            "variables": {"HOME": "/root"},
            "mend": None,
        },
        "abacus": {
            "libraries": {"libabacus.so": "is not found"},
            "device_files": 0,
            "variables": {},
            "mend": "buy one",
        },
    }
