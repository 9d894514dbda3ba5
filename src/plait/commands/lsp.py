"""`plait lsp`: the language server that editors start."""

from __future__ import annotations

import argparse
import os
import sys

DESCRIPTION = (
    "Speak the Language Server Protocol on stdin and stdout: findings as you type, their fixes, hover, "
    "definitions, references, renames, completion. An editor starts it; editors/README.md says how."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    help = "as many editors ask; there is no other way"
    parser.add_argument("--stdio", action="store_true", help=help)


def run(options: argparse.Namespace) -> int:
    from plait.lsp.server import serve

    if sys.stdin.isatty():
        print("plait lsp: an editor speaks to this; end it with Ctrl-D", file=sys.stderr)
    # The protocol has stdout for itself: whatever else is printed goes where messages go.
    sys.stdout.flush()
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    return serve(sys.stdin.buffer, out)
