"""`plait diff`: two schedules side by side."""

from __future__ import annotations

import argparse
from dataclasses import replace

from plait.commands.asked import add_spec_arguments, compiled
from plait.exit import DIFFERS, FINE

DESCRIPTION = (
    "Compare two schedules: settings, streams, phases, edges, captures, buffers. Each "
    "is a .spec file, a variant of one (eagle.spec@serial) or a schedule's .json. "
    "Exit 0 when nothing differs, 1 when something does."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("before", metavar="A", help="a .spec file, SPEC@VARIANT or .json")
    parser.add_argument("after", metavar="B", help="another, or the same as another variant")
    parser.add_argument("--json", action="store_true", help="print the differences as JSON")
    add_spec_arguments(parser)


def run(options: argparse.Namespace) -> int:
    from plait.compiler.views.diff import diff

    found = diff(compiled(options, options.before), compiled(options, options.after))
    found = replace(found, before=options.before, after=options.after)
    if options.json:
        import json
        from dataclasses import asdict

        print(json.dumps({"same": not found, **asdict(found)}, indent=2, ensure_ascii=False))
    else:
        print(found, end="")
    return DIFFERS if found else FINE
