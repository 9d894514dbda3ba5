"""Programs of `examples/`, run in this process as the command line would run them."""

from __future__ import annotations

import contextlib
import io
import os
import runpy
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch


@contextmanager
def importing(folder: Path) -> Iterator[None]:
    """A program's own folder comes first, and what it has imported from there is forgotten."""
    own = {path.stem for path in folder.glob("*.py")}
    threads = torch.get_num_threads()
    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        sys.path.remove(str(folder))
        for name in own & set(sys.modules):
            del sys.modules[name]
        torch.set_num_threads(threads)


def ran(program: Path, *arguments: str) -> tuple[int, str]:
    """`python PROGRAM ARGUMENTS`: its exit code, and what it printed."""
    out, code, before = io.StringIO(), 0, sys.argv
    sys.argv = [str(program), *arguments]
    try:
        with importing(program.parent), contextlib.redirect_stdout(out):
            runpy.run_path(os.fspath(program), run_name="__main__")
    except SystemExit as left:
        code = left.code if isinstance(left.code, int) else 1
        if isinstance(left.code, str):
            out.write(f"{left.code}\n")
    finally:
        sys.argv = before
    return code, out.getvalue()
