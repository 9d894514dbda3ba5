"""Runs benchmarks and prints a line for each figure."""

from __future__ import annotations

import argparse
import json
import sys
from importlib import import_module

NAMES = (
    "compile_cold",
    "parse",
    "check_growth",
    "marks",
    "order_growth",
    "round_overhead",
    "replay",
    "overlap",
    "dispatch",
    "simulate",
    "align",
    "engine",
    "speculation",
    "exposed",
    "calibrate",
)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(NAMES)}")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if unknown := set(options.names) - set(NAMES):
        parser.error(f"there is no benchmark {', '.join(sorted(unknown))}")
    found = []
    for name in options.names or NAMES:
        for pair in import_module(f"benchmarks.{name}").run():
            found.append(pair)
            print(pair, file=sys.stderr if options.json else sys.stdout, flush=True)
    if options.json:
        print(json.dumps([pair.as_data() for pair in found], indent=2))
    return 0


if __name__ == "__main__":
    sys.exit(main())
