"""A cold `plait compile` against a cold `import lark`: at most 3 times it is the aim."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator

from plait.bench.paired import Pair, paired, timed


def run(turns: int = 31) -> Iterator[Pair]:
    compile = [sys.executable, "-m", "plait", "compile", "examples/eagle.spec", "-o", os.devnull]
    lark = [sys.executable, "-c", "import lark"]
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}

    def started(command: list[str]) -> None:
        subprocess.run(command, check=True, env=environment)

    for command in (compile, lark):  # once, so that bytecode and tables are there
        started(command)
    yield paired(
        "cold `plait compile examples/eagle.spec` / `python -c 'import lark'`",
        lambda: timed(lambda: started(compile)),
        lambda: timed(lambda: started(lark)),
        turns,
        most=3,
    )
