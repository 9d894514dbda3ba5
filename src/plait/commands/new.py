"""`plait new`: a small spec to start from, and the program that runs it."""

from __future__ import annotations

import argparse
import errno
import os
import re
import sys
from collections.abc import Mapping
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path

from plait.commands.asked import write_whole
from plait.dsl.build import LONGEST_NAME
from plait.dsl.words import RESERVED
from plait.exit import FINE, Refused

TEMPLATES = Path(__file__).parent.parent / "templates"
ENDINGS = (".spec", ".py")
NAME = re.compile(r"(?!_\Z)[A-Za-z_][A-Za-z0-9_]*\Z")


DESCRIPTION = (
    "Write NAME.spec, a small round with comments, and NAME.py, its phases in torch and a "
    "program that runs it, into this folder. Where one of them is there, nothing is written."
)
EXAMPLE = "for example: `plait new demo`"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", help="of the pipeline and of both files")
    parser.add_argument("--json", action="store_true", help="print the names of the files as JSON")


def run(options: argparse.Namespace) -> int:
    name = options.name
    _check(name)
    spec, program = files = [f"{name}{ending}" for ending in ENDINGS]
    _write_new({f"{name}{ending}": _text(name, ending) for ending in ENDINGS})
    if options.json:
        import json

        print(json.dumps({"files": files}, indent=2))
    else:
        print(f"{spec}: a round; prove it: plait check {spec}")
        print(f"{program}: its phases; run it: python {program}")
    return FINE


def _check(name: str) -> None:
    """Refuses a name that a spec could not have, or that would get in Python's way."""
    if not NAME.match(name):
        raise Refused(f"{name!r} is not a name: letters, digits and `_`, no digit first")
    if len(name) > LONGEST_NAME:
        raise Refused(f"a name has at most {LONGEST_NAME} characters, and this {len(name)}")
    if name in RESERVED:
        raise Refused(f"`{name}` is a reserved word, so it cannot be a name")
    if not os.path.lexists(f"{name}.py") and _is_module(name):
        raise Refused(f"{name}.py would hide the module `{name}` from whatever imports it")


def _is_module(name: str) -> bool:
    if name in sys.modules:
        return True
    found = find_spec(name)
    return found is not None and found.origin is not None  # a mere folder has no origin


def _text(name: str, ending: str) -> str:
    text = (TEMPLATES / f"starter{ending}").read_text(encoding="utf-8")
    return re.sub(r"\bstarter\b", name, text)


def _write_new(texts: Mapping[str, str]) -> None:
    """Writes files that are not there yet: all of them, or none. Raises OSError."""
    for path in texts:
        if os.path.lexists(path):
            raise OSError(errno.EEXIST, "is there already, so nothing is written", path)
    with ExitStack() as undo:
        for path, text in texts.items():
            write_whole(path, text, over=False)
            undo.callback(os.unlink, path)
        undo.pop_all()
