"""A cold `plait compile` against a cold `import lark`: at most 3 times it is the aim."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator

from benchmarks.paired import Pair, paired, timed


def run(turns: int = 31) -> Iterator[Pair]:
    compile = [sys.executable, "-m", "plait", "compile", "examples/eagle.spec", "-o", os.devnull]
    lark = [sys.executable, "-c", "import lark"]
    for command in (compile, lark):  # once, so that bytecode and tables are there
        subprocess.run(command, check=True)
    yield paired(
        "cold `plait compile examples/eagle.spec` / `python -c 'import lark'`",
        lambda: timed(lambda: subprocess.run(compile, check=True)),
        lambda: timed(lambda: subprocess.run(lark, check=True)),
        turns,
    )
