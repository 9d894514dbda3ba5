"""Tries many inputs and interleavings, and writes tables: `python -m soak [--write FILE]`."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

from soak.ranked import ranked_table
from soak.served import served_table
from soak.trial import trial
from soak.tuning import searched_table, searches

ROOT = Path(__file__).parents[2]
SECONDS = 1.0
"""That one input may take."""
CHANCE = 1e-4
"""Less likely than this, and tokens are not the distribution: their seeds are always the same."""


def commit() -> str:
    """The commit that is tried, or a word where there is none."""
    command = ["git", "-C", str(ROOT), "rev-parse", "HEAD"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "without a commit"


def judges(seed: str, rounds: int) -> list[dict]:
    """What the judges that are not ours say, from a process of its own: torch is no part of the limit."""
    command = [sys.executable, "-m", "oracles", "--seed", seed, "--rounds", str(rounds)]
    ran = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(ran.stdout)


def replays(seed: str, programs: int) -> dict:
    """Random programs on every way to replay, in a process of its own for the same reason."""
    command = [sys.executable, "-m", "soak.replays", "--seed", seed, "--programs", str(programs)]
    ran = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(ran.stdout)


def traces(seed: str, count: int) -> dict:
    """Damaged traces, in a process of their own."""
    command = [sys.executable, "-m", "soak.traces", "--seed", seed, "--count", str(count)]
    ran = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(ran.stdout)


def traces_table(found: dict) -> str:
    return "\n".join(
        [
            "",
            "Traces of every profiler with bytes or fields that are not theirs: each is read and shown, or",
            "refused in one line.",
            "",
            "| traces | read | refused | slowest | failures |",
            "|---|---|---|---|---|",
            f"| {found['tried']:,} | {found['read']:,} | {found['refused']:,} | {found['slowest']:.3f} s | "
            f"{len(found['failures'])} |",
            "",
        ]
    )


def aligned(seed: str, count: int) -> dict:
    """Traces with a known truth, in a process of their own."""
    command = [sys.executable, "-m", "soak.aligned", "--seed", seed, "--count", str(count)]
    ran = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(ran.stdout)


def aligned_table(found: dict) -> str:
    return "\n".join(
        [
            "",
            "Traces of random rounds, a twentieth of their kernels dropped, a twentieth inserted, a tenth",
            "renamed: what is said of joins, paths and the ends of rounds is so, or not known.",
            "",
            "| traces | kernels that survive | given to their node | said wrongly | processor time |",
            "|---|---|---|---|---|",
            f"| {found['tried']:,} | {found['surviving']:,} | "
            f"{100 * found['right'] / found['surviving']:.2f} % | {len(found['wrong'])} | "
            f"{found['seconds']:.0f} s |",
            "",
        ]
    )


def sampling(draws: int) -> list[dict]:
    """Tokens that requests sampled, in a process of their own: torch is no part of the limit."""
    command = [sys.executable, "-m", "soak.sampling", "--draws", str(draws)]
    ran = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(ran.stdout)


def sampling_table(found: list[dict]) -> str:
    rows = [
        f"| {one['what']} | {one['draws']:,} | {one['statistic']:.0f} | {one['freedom']} | "
        f"{one['p']:.3f} | {one['seconds']:.1f} s |"
        for one in found
    ]
    return "\n".join(
        [
            "",
            "Requests through whole rounds of the table model, of seeds from 0: the first four tokens",
            "jointly against the target's distribution, by chi-square. p is how likely it is to fit no",
            f"better by chance; below {CHANCE} it has failed. What is followed gives the service's tokens.",
            "",
            "| rounds | requests | chi-square | degrees of freedom | p | processor time |",
            "|---|---|---|---|---|---|",
            *rows,
            "",
        ]
    )


def servers(requests: int, repeats: int) -> dict:
    """A server under load, in a process of its own."""
    command = [sys.executable, "-m", "soak.served", "--requests", str(requests)]
    command += ["--repeats", str(repeats)]
    ran = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    return json.loads(ran.stdout)


def ranked(seed: str, launches: int) -> dict:
    """A server on two ranks that ends in one way or another, again and again."""
    command = [sys.executable, "-m", "soak.ranked", "--seed", seed, "--repeats", str(launches)]
    ran = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    return json.loads(ran.stdout)


def engines(seed: str, count: int) -> dict:
    """Requests that come to engines and leave them, in a process of their own."""
    command = [sys.executable, "-m", "soak.engines", "--seed", seed, "--count", str(count)]
    ran = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(ran.stdout)


def engines_table(found: dict) -> str:
    ends = ", ".join(f"{times:,} {end}" for end, times in found["ends"].items())
    return "\n".join(
        [
            "",
            "Requests that come to an engine and leave it at random, with deadlines, rounds that fail and",
            "schedules that are swapped: each ends once, with the beginning of its own tokens.",
            "",
            "| engines | how requests ended | failures | processor time |",
            "|---|---|---|---|",
            f"| {found['tried']:,} | {ends} | {len(found['failures'])} | {found['seconds']:.0f} s |",
            "",
        ]
    )


def paging(seed: str, trials: int) -> dict:
    """Requests on caches in pages, in a process of their own."""
    command = [sys.executable, "-m", "soak.paging", "--seed", seed, "--trials", str(trials)]
    ran = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(ran.stdout)


def paging_table(found: dict) -> str:
    return "\n".join(
        [
            "",
            "Requests that come, leave, give up and are restored at random on too few pages, half of which",
            "begin alike: tokens and logits are those of plain decoding, and every page is back at the end.",
            "",
            "| requests | tokens | of prompts, reused | not as it should be | processor time |",
            "|---|---|---|---|---|",
            f"| {found['requests']:,} | {found['tokens']:,} | {found['reused']:,} | {found['wrong']} | "
            f"{found['seconds']:.0f} s |",
            "",
        ]
    )


def interleavings(seeds: int) -> list[dict]:
    """What the adversary finds, from a process of its own."""
    command = [sys.executable, "-m", "adversary", "--seeds", str(seeds)]
    ran = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(ran.stdout)


def replayed_table(found: dict) -> str:
    return "\n".join(
        [
            "",
            "Random programs of 25 operations, captured once: a replay leaves the bits that they leave,",
            "on three new inputs each.",
            "",
            "| programs | replayed by | other bits | processor time |",
            "|---|---|---|---|",
            f"| {found['tried']:,} | {', '.join(found['tiers'])} | {len(found['wrong'])} | "
            f"{found['seconds']:.0f} s |",
            "",
        ]
    )


def interleavings_table(found: list[dict], missed: int) -> str:
    rows = [
        f"| {one['what']} | {one['tried']:,} | {len(one['failures'])} | {one['seconds']:.0f} s |"
        for one in found
    ]
    return "\n".join(
        [
            "",
            "Interleavings that a schedule allows give what its text gives, and those of a racy one do not",
            f"for some seed; the {missed} for which they did are listed in [adversary.md](adversary.md).",
            "",
            "| what | tried | failures | processor time |",
            "|---|---|---|---|",
            *rows,
            "",
        ]
    )


def joining(seed: str, most: int) -> list[dict]:
    """Requests that join and leave the service's trees, in a process of their own."""
    command = [sys.executable, "-m", "soak.joining", "--seed", seed, "--most", str(most)]
    ran = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(ran.stdout)


def joining_table(found: list[dict], most: int) -> str:
    rows = [
        f"| {one['device']} | {one['tried']:,} | {one['rounds']:,} | {one['tokens']:,} | "
        f"{len(one['failures'])} | {one['seconds']:.0f} s |"
        for one in found
    ]
    return "\n".join(
        [
            "",
            "Requests that join and leave at random, at 0 to 4 steps and 1 to 4 candidates a step, up to",
            f"{most} at once: tokens and logits are those of plain decoding, bit for bit.",
            "",
            "| device | requests | their rounds | tokens | other tokens or logits | processor time |",
            "|---|---|---|---|---|---|",
            *rows,
            "",
        ]
    )


def judged_table(judged: list[dict]) -> str:
    rows = [
        f"| {one['what']} | {one['tried']:,} | {one['passed']:,} | {one['refused']:,} | "
        f"{len(one['disagreed'])} | {one['seconds']:.0f} s |"
        for one in judged
    ]
    return "\n".join(
        [
            "",
            "What the rules accept runs as the text does, and what they refuse as unordered does not: by",
            "every interleaving where those are few, else by some and by torch's sanitizer of CUDA programs.",
            "",
            "| what | tried | accepted | refused | disagreements | processor time |",
            "|---|---|---|---|---|---|",
            *rows,
            "",
        ]
    )


def table(found: dict, seed: str) -> str:
    rows = [
        f"| {one['what']} | {one['tried']:,} | {one['sound']:,} | {one['slowest']:.3f} s | "
        f"{len(one['failures'])} |"
        for one in found["seen"]
    ]
    return "\n".join(
        [
            "# Soak",
            "",
            "Inputs that nobody means, in one process that may have 512 MiB: each ends in syntax or in a",
            f"diagnostic, within {SECONDS:.0f} s of processor time. `make soak` writes this page.",
            "",
            f"Commit {seed}, {datetime.now(UTC):%Y-%m-%d}; peak {found['peak_mib']:.0f} MiB.",
            "",
            "| what | inputs | without a finding | slowest | failures |",
            "|---|---|---|---|---|",
            *rows,
            "",
        ]
    )


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m soak", description=__doc__)
    parser.add_argument("--count", type=int, default=20_000, help="inputs that are read")
    parser.add_argument("--checks", type=int, default=20_000, help="inputs that are checked whole")
    parser.add_argument("--rounds", type=int, default=50_000, help="rounds before other judges")
    parser.add_argument("--programs", type=int, default=10_000, help="programs that are replayed")
    parser.add_argument("--traces", type=int, default=25_000, help="traces that are damaged")
    parser.add_argument("--aligned", type=int, default=2_000, help="traces with a known truth")
    parser.add_argument("--joining", type=int, default=16, help="requests at once, of trees")
    parser.add_argument("--seeds", type=int, default=500, help="interleavings of every example")
    parser.add_argument("--searches", type=int, default=200, help="rounds of which all is searched")
    parser.add_argument("--draws", type=int, default=100_000, help="requests that sample")
    parser.add_argument("--pages", type=int, default=30, help="trials of caches in pages")
    parser.add_argument("--requests", type=int, default=2_000, help="to a server, in each repeat")
    parser.add_argument("--repeats", type=int, default=10, help="of the load on a server")
    parser.add_argument("--launches", type=int, default=40, help="of a server on two ranks")
    parser.add_argument(
        "--engines", type=int, default=2_000, help="that requests come to and leave"
    )
    parser.add_argument("--seed", default=commit())
    parser.add_argument("--write", type=Path, metavar="FILE", help="a page with the table")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    found = trial(options.seed, options.count, options.checks)
    if options.json:
        print(json.dumps(found))
        return 0
    judged = judges(options.seed, options.rounds)
    again = replays(options.seed, options.programs)
    page = table(found, options.seed) + judged_table(judged) + replayed_table(again)
    searched = searches(options.seed, options.searches)
    page += searched_table(searched)
    lots = interleavings(options.seeds)
    missed = lots[-1]["failures"]
    page += interleavings_table(lots, len(missed))
    joined = joining(options.seed, options.joining)
    page += joining_table(joined, options.joining)
    damaged = traces(options.seed, options.traces)
    page += traces_table(damaged)
    truth = aligned(options.seed, options.aligned)
    page += aligned_table(truth)
    drawn = sampling(options.draws)
    page += sampling_table(drawn)
    paged = paging(options.seed, options.pages)
    page += paging_table(paged)
    loaded = servers(options.requests, options.repeats)
    page += served_table(loaded)
    launched = ranked(options.seed, options.launches)
    page += ranked_table(launched)
    served = engines(options.seed, options.engines)
    page += engines_table(served)
    if options.write:
        options.write.write_text(page, encoding="utf-8")
    print(page)
    wrong = any(one["disagreed"] for one in judged) or bool(again["wrong"])
    wrong |= searched["reached"] < 0.95 * searched["tried"] or bool(searched["above"])
    for one in again["wrong"][:5]:
        print(f"a replay gives other bits: {one}", file=sys.stderr)
    for one in judged:
        for text in one["disagreed"][:5]:
            print(f"{one['what']}: the judges do not agree:\n{text}\n", file=sys.stderr)
    for one in joined:
        wrong |= bool(one["failures"])
        for failure in one["failures"][:5]:
            print(f"joining: {failure}", file=sys.stderr)
    if paged["wrong"]:
        wrong = True
        print(f"{paged['wrong']} requests on pages are not as plain decoding", file=sys.stderr)
    wrong |= bool(damaged["failures"])
    for one in damaged["failures"][:5]:
        print(f"reading a damaged trace raised:\n{one}", file=sys.stderr)
    wrong |= bool(loaded["wrong"])
    for one in loaded["wrong"][:5]:
        print(f"a server under load: {one}", file=sys.stderr)
    wrong |= bool(launched["wrong"])
    for one in launched["wrong"][:5]:
        print(f"a server on two ranks: {one}", file=sys.stderr)
    wrong |= bool(truth["wrong"])
    for one in truth["wrong"][:5]:
        print(f"aligning says what is not so: {one}", file=sys.stderr)
    for one in drawn:
        if one["p"] < CHANCE:
            wrong = True
            print(f"{one['what']}: not the distribution, p = {one['p']:.2g}", file=sys.stderr)
    wrong |= bool(served["failures"])
    for one in served["failures"]:
        print(f"an engine: {one}", file=sys.stderr)
    for one in lots:
        wrong |= bool(one["failures"]) and one is not lots[-1]
        for failure in one["failures"][:5]:
            print(f"{one['what']}: {failure}", file=sys.stderr)
    for one in found["seen"]:
        slow = one["slowest"] > SECONDS
        wrong |= slow or bool(one["failures"])
        for failure in one["failures"][:5]:
            print(f"{one['what']} failed:\n{failure}\n", file=sys.stderr)
        if slow:
            text = one["slowest_text"]
            print(f"{one['what']} took {one['slowest']:.2f} s:\n{text}\n", file=sys.stderr)
    return int(wrong)


if __name__ == "__main__":
    sys.exit(main())
