"""`docs/ranks.md`, run as it says."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path


def test_the_example_of_the_page_runs(root: Path, tmp_path: Path) -> None:
    """Every assertion in its program holds on both ranks that torchrun starts."""
    text = (root / "docs" / "ranks.md").read_text(encoding="utf-8")
    (spec,) = re.findall(r"```spec\n(.*?)```", text, re.DOTALL)
    (program,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    (tmp_path / "totals.spec").write_text(spec, encoding="utf-8")
    (tmp_path / "totals.py").write_text(program, encoding="utf-8")
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    launcher = subprocess.Popen(
        [*torchrun, "--nproc-per-node", "2", "totals.py"],
        cwd=tmp_path,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        _, errors = launcher.communicate(timeout=120)
    finally:
        launcher.terminate()  # it ends its ranks
        launcher.wait(30)
    assert launcher.returncode == 0, errors
