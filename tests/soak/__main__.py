"""Tries many inputs and interleavings, and writes tables: `python -m soak [--write FILE]`."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

from soak.apart import apart
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


def traces_table(found: dict) -> str:
    says = (
        "Traces of every profiler with bytes or fields that are not theirs: each is read and shown, or",
        "refused in one line.",
    )
    row = (
        f"{found['tried']:,}",
        f"{found['read']:,}",
        f"{found['refused']:,}",
        f"{found['slowest']:.3f} s",
        len(found["failures"]),
    )
    return table(says, ("traces", "read", "refused", "slowest", "failures"), [row])


def aligned_table(found: dict) -> str:
    says = (
        "Traces of random rounds, a twentieth of their kernels dropped, a twentieth inserted, a tenth",
        "renamed: what is said of joins, paths and the ends of rounds is so, or not known.",
    )
    head = (
        "traces",
        "kernels that survive",
        "given to their node",
        "said wrongly",
        "processor time",
    )
    row = (
        f"{found['tried']:,}",
        f"{found['surviving']:,}",
        f"{100 * found['right'] / found['surviving']:.2f} %",
        len(found["wrong"]),
        f"{found['seconds']:.0f} s",
    )
    return table(says, head, [row])


def replayed_table(found: dict) -> str:
    says = (
        "Random programs of 25 operations, captured once: a replay leaves the bits that they leave,",
        "on three new inputs each.",
    )
    row = (
        f"{found['tried']:,}",
        ", ".join(found["tiers"]),
        len(found["wrong"]),
        f"{found['seconds']:.0f} s",
    )
    return table(says, ("programs", "replayed by", "other bits", "processor time"), [row])


def interleavings_table(found: list[dict], missed: int) -> str:
    says = (
        "Interleavings that a schedule allows give what its text gives, and those of a racy one do not",
        f"for some seed; the {missed} for which they did are listed in [adversary.md](adversary.md).",
    )
    rows = (
        (one["what"], f"{one['tried']:,}", len(one["failures"]), f"{one['seconds']:.0f} s")
        for one in found
    )
    return table(says, ("what", "tried", "failures", "processor time"), rows)


def judged_table(judged: list[dict]) -> str:
    says = (
        "What the rules accept runs as the text does, and what they refuse as unordered does not: by",
        "every interleaving where those are few, else by some and by torch's sanitizer of CUDA programs.",
    )
    head = ("what", "tried", "accepted", "refused", "disagreements", "processor time")
    rows = (
        (
            one["what"],
            f"{one['tried']:,}",
            f"{one['passed']:,}",
            f"{one['refused']:,}",
            len(one["disagreed"]),
            f"{one['seconds']:.0f} s",
        )
        for one in judged
    )
    return table(says, head, rows)


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


def told(what: str, failures: list[str], end: str = "\n") -> bool:
    """Whether there are any; says the first of them."""
    for one in failures[:MOST_TOLD]:
        print(f"{what}{one}", file=sys.stderr, end=end)
    return bool(failures)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m soak", description=__doc__)
    parser.add_argument("--count", type=int, default=20_000, help="inputs that are read")
    parser.add_argument("--checks", type=int, default=20_000, help="inputs that are checked whole")
    parser.add_argument("--rounds", type=int, default=50_000, help="rounds before other judges")
    parser.add_argument("--programs", type=int, default=10_000, help="programs that are replayed")
    parser.add_argument("--traces", type=int, default=25_000, help="traces that are damaged")
    parser.add_argument("--aligned", type=int, default=2_000, help="traces with a known truth")
    parser.add_argument("--seeds", type=int, default=500, help="interleavings of every example")
    parser.add_argument("--searches", type=int, default=200, help="rounds of which all is searched")
    parser.add_argument("--seed", default=commit())
    parser.add_argument("--write", type=Path, metavar="FILE", help="a page with the table")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    found = trial(options.seed, options.count, options.checks)
    if options.json:
        print(json.dumps(found))
        return 0
    judged = apart("oracles", seed=options.seed, rounds=options.rounds)
    again = apart("soak.replays", seed=options.seed, programs=options.programs)
    searched = searches(options.seed, options.searches)
    lots = apart("adversary", seeds=options.seeds)
    damaged = apart("soak.traces", seed=options.seed, count=options.traces)
    truth = apart("soak.aligned", seed=options.seed, count=options.aligned)
    tables = [
        inputs_table(found, options.seed),
        judged_table(judged),
        replayed_table(again),
        searched_table(searched),
        interleavings_table(lots, len(lots[-1]["failures"])),
        traces_table(damaged),
        aligned_table(truth),
    ]
    page = "\n".join(tables)
    if options.write:
        options.write.write_text(page, encoding="utf-8")
    print(page)
    wrong = searched["reached"] < 0.95 * searched["tried"] or bool(searched["above"])
    wrong |= told("a replay gives other bits: ", again["wrong"])
    for one in judged:
        wrong |= told(f"{one['what']}: the judges do not agree:\n", one["disagreed"], "\n\n")
    wrong |= told("reading a damaged trace raised:\n", damaged["failures"])
    wrong |= told("aligning says what is not so: ", truth["wrong"])
    for one in lots:
        wrong |= told(f"{one['what']}: ", one["failures"]) and one is not lots[-1]
    for one in found["seen"]:
        wrong |= told(f"{one['what']} failed:\n", one["failures"], "\n\n")
        if one["slowest"] > SECONDS:
            slow = f"{one['what']} took {one['slowest']:.2f} s:\n"
            wrong |= told(slow, [one["slowest_text"]], "\n\n")
    return int(wrong)


if __name__ == "__main__":
    sys.exit(main())
