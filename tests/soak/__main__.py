"""Tries many inputs and interleavings, and writes tables: `python -m soak [--write FILE]`."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

from soak.apart import apart
from soak.parts import PARTS, Part
from soak.table import table
from soak.trial import trial
from soak.tuning import searched_table, searches

ROOT = Path(__file__).parents[2]
SECONDS = 1.0
"""That one input may take."""
MOST_TOLD = 5
"""Failures of a sort."""


def commit() -> str:
    """The commit that is tried, or a word where there is none."""
    command = ["git", "-C", str(ROOT), "rev-parse", "HEAD"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "without a commit"


def inputs_table(found: dict, seed: str) -> str:
    says = (
        "# Soak",
        "",
        "Inputs that nobody means, in one process that may have 512 MiB: each ends in syntax or in a",
        f"diagnostic, within {SECONDS:.0f} s of processor time. `make soak` writes this page.",
        "",
        f"Commit {seed}, {datetime.now(UTC):%Y-%m-%d}; peak {found['peak_mib']:.0f} MiB.",
    )
    rows = (
        (
            one["what"],
            f"{one['tried']:,}",
            f"{one['sound']:,}",
            f"{one['slowest']:.3f} s",
            len(one["failures"]),
        )
        for one in found["seen"]
    )
    return table(says, ("what", "inputs", "without a finding", "slowest", "failures"), rows)


def told(failures: list[str]) -> bool:
    """Whether there are any; says the first of them."""
    for one in failures[:MOST_TOLD]:
        print(one, file=sys.stderr)
    return bool(failures)


def options_of(arguments: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m soak", description=__doc__)
    parser.add_argument("--count", type=int, default=20_000, help="inputs that are read")
    parser.add_argument("--checks", type=int, default=20_000, help="inputs that are checked whole")
    parser.add_argument("--searches", type=int, default=200, help="rounds of which all is searched")
    for count in (count for part in PARTS for count in part.counts):
        parser.add_argument(f"--{count.name}", type=int, default=count.times, help=count.help)
    parser.add_argument("--seed", default=commit())
    parser.add_argument("--only", choices=[part.module for part in PARTS], help="one part's table")
    parser.add_argument("--write", type=Path, metavar="FILE", help="a page with the tables")
    parser.add_argument("--json", action="store_true")
    return parser.parse_args(arguments)


def run(part: Part, options: argparse.Namespace) -> tuple[str, list[str]]:
    """A part's table, and what has failed in it."""
    asked = {count.of_part: getattr(options, count.name) for count in part.counts}
    found = apart(part.module, **({"seed": options.seed} if part.seeded else {}), **asked)
    return part.table(found), part.failures(found)


def main() -> int:
    options = options_of()
    if options.only:
        (part,) = (part for part in PARTS if part.module == options.only)
        text, failures = run(part, options)
        print(text)
        return int(told(failures))
    found = trial(options.seed, options.count, options.checks)
    if options.json:
        print(json.dumps(found))
        return 0
    searched = searches(options.seed, options.searches)
    seen = [run(part, options) for part in PARTS]
    texts = [inputs_table(found, options.seed), searched_table(searched)]
    page = "\n".join([*texts, *(text for text, _ in seen)])
    if options.write:
        options.write.write_text(page, encoding="utf-8")
    print(page)
    wrong = searched["reached"] < 0.95 * searched["tried"] or bool(searched["above"])
    for _, failures in seen:
        wrong |= told(failures)
    for one in found["seen"]:
        wrong |= told([f"{one['what']} failed:\n{text}\n" for text in one["failures"]])
        if one["slowest"] > SECONDS:
            text = one["slowest_text"]
            wrong |= told([f"{one['what']} took {one['slowest']:.2f} s:\n{text}\n"])
    return int(wrong)


if __name__ == "__main__":
    sys.exit(main())
