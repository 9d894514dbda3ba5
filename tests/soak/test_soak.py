"""The soak at CI's counts, of other inputs for every commit; `make soak` checks all of them whole."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

SECONDS = 5.0
"""For one input, on a machine that does other things too."""


def test_whatever_is_typed_ends_in_a_diagnostic(root: Path) -> None:
    """No traceback, no input that takes long, no more memory than 512 MiB."""
    command = [sys.executable, "-m", "soak", "--count", "20000", "--checks", "2000", "--json"]
    path = os.pathsep.join([str(root / "src"), str(root / "tests")])
    environment = {**os.environ, "PYTHONPATH": path}
    ran = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
    for one in json.loads(ran.stdout)["seen"]:
        assert one["failures"] == []
        assert one["slowest"] < SECONDS, one["slowest_text"]
