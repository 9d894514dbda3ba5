"""torch_npu is installed and its driver is not: the real wheel, which then breaks `import torch`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from conformance.built import Absent, installed
from plait.commands.backends import AUTOLOAD
from serving.process import served


@pytest.fixture(scope="module")
def environment() -> dict[str, str]:
    try:
        wheel = installed()
    except Absent as absent:
        pytest.skip(str(absent))
    here = [entry for entry in sys.path if entry]
    return {"PYTHONPATH": os.pathsep.join([*here, str(wheel)]), AUTOLOAD: "1"}


def _started(environment: dict[str, str], *command: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, *command],
        env=os.environ | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_it_is_said_and_the_cpu_decodes(environment: dict[str, str]) -> None:
    """Doctor says what does not load and what to do, and `run` decodes."""
    doctor = _started(environment, "-m", "plait", "doctor", "--json", "--device", "npu")
    asked = ("--prompt", "Once", "--max-new-tokens", "4", "--no-plain", "--device", "cpu")
    run = _started(environment, "-m", "plait", "run", "examples/eagle.spec", *asked)
    found = json.loads(doctor.communicate(timeout=120)[0])
    lacking = "cannot open shared object file: No such file or directory"
    assert doctor.returncode == 3 and found["devices"]["cpu"] is None
    assert list(found["backends"]) == ["torch_npu"]
    assert found["backends"]["torch_npu"]["package"] == "torch_npu 2.13.0"
    assert found["backends"]["torch_npu"]["why_not"].endswith(lacking)
    assert lacking in found["devices"]["npu"] and found["drivers"]["npu"]["mend"]
    assert "rounds" in run.communicate(timeout=120)[0] and run.returncode == 0


def test_the_cpu_serves(environment: dict[str, str], tmp_path: Path) -> None:
    """A server becomes ready, and ends as it should."""
    with served(tmp_path / "log", "--device", "cpu", "--set", "buckets=[1]", **environment) as one:
        assert one.end() == 0
