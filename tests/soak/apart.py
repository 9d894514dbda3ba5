"""Parts of the soak in processes of their own, so that the one under a limit of memory holds no torch."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Callable
from typing import Any


def apart(module: str, **options: object) -> Any:
    """What `python -m MODULE --OPTION VALUE ...` prints, which is JSON."""
    words = [word for name, value in options.items() for word in (f"--{name}", str(value))]
    command = [sys.executable, "-m", module, *words]
    ran = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(ran.stdout)


def main(
    module: str, says: str | None, run: Callable[[str, int], dict], count: str, times: int
) -> None:
    """The other side: prints what a run says of a seed and so many; `count` names the option of that."""
    parser = argparse.ArgumentParser(prog=f"python -m {module}", description=says)
    parser.add_argument("--seed", required=True)
    parser.add_argument(f"--{count}", type=int, default=times)
    options = vars(parser.parse_args())
    print(json.dumps(run(options["seed"], options[count])))
