"""What each part of the soak has seen, as a table."""

from __future__ import annotations

from soak.table import table

CHANCE = 1e-4
"""Less likely than this, and tokens are not the distribution: their seeds are always the same."""


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


def interleavings_table(found: list[dict]) -> str:
    missed = len(found[-1]["failures"])
    says = (
        "Interleavings that a schedule allows give what its text gives, and those of a racy one do not",
        f"for some seed; the {missed} for which they did are listed in [adversary.md](adversary.md).",
    )
    rows = (
        (one["what"], f"{one['tried']:,}", len(one["failures"]), f"{one['seconds']:.0f} s")
        for one in found
    )
    return table(says, ("what", "tried", "failures", "processor time"), rows)


def judged_table(found: list[dict]) -> str:
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
        for one in found
    )
    return table(says, head, rows)


def joining_table(found: list[dict]) -> str:
    says = (
        "Requests that join and leave at random, at 0 to 4 steps and 1 to 4 candidates a step: tokens and",
        "logits are those of plain decoding, bit for bit.",
    )
    head = (
        "device",
        "requests",
        "their rounds",
        "tokens",
        "other tokens or logits",
        "processor time",
    )
    rows = (
        (
            one["device"],
            f"{one['tried']:,}",
            f"{one['rounds']:,}",
            f"{one['tokens']:,}",
            len(one["failures"]),
            f"{one['seconds']:.0f} s",
        )
        for one in found
    )
    return table(says, head, rows)


def sampling_table(found: list[dict]) -> str:
    says = (
        "Requests through whole rounds of the table model, of seeds from 0: the first four tokens",
        "jointly against the target's distribution, by chi-square. p is how likely it is to fit no",
        f"better by chance; below {CHANCE} it has failed. What is followed gives the service's tokens.",
    )
    head = ("rounds", "requests", "chi-square", "degrees of freedom", "p", "processor time")
    rows = (
        (
            one["what"],
            f"{one['draws']:,}",
            f"{one['statistic']:.0f}",
            one["freedom"],
            f"{one['p']:.3f}",
            f"{one['seconds']:.1f} s",
        )
        for one in found
    )
    return table(says, head, rows)


def paging_table(found: dict) -> str:
    says = (
        "Requests that come, leave, give up and are restored at random on too few pages, half of which",
        "begin alike: tokens and logits are those of plain decoding, and every page is back at the end.",
    )
    head = ("requests", "tokens", "of prompts, reused", "not as it should be", "processor time")
    row = (
        f"{found['requests']:,}",
        f"{found['tokens']:,}",
        f"{found['reused']:,}",
        found["wrong"],
        f"{found['seconds']:.0f} s",
    )
    return table(says, head, [row])


def engines_table(found: dict) -> str:
    says = (
        "Requests that come to an engine and leave it at random, with deadlines, rounds that fail and",
        "schedules that are swapped: each ends once, with the beginning of its own tokens.",
    )
    row = (
        f"{found['tried']:,}",
        ", ".join(f"{times:,} {end}" for end, times in found["ends"].items()),
        len(found["failures"]),
        f"{found['seconds']:.0f} s",
    )
    return table(says, ("engines", "how requests ended", "failures", "processor time"), [row])


def served_table(found: dict) -> str:
    says = (
        f"`plait serve`, exact mode, {found['clients']} clients at a time, all prompts different; a",
        "third of the clients leave at random, a tenth send nonsense. Who stays ends once, with the",
        "tokens of plain decoding; nothing is held when all are gone, and the log has no error.",
    )
    head = (
        "asked",
        "sound",
        "left",
        "rounds",
        "MiB, third repeat",
        "MiB, last",
        "failures",
        "time",
    )
    row = (
        f"{found['asked']:,}",
        f"{found['sound']:,}",
        f"{found['left']:,}",
        f"{found['rounds']:,}",
        found["settled"] >> 20,
        found["resident"][-1] >> 20,
        len(found["wrong"]),
        f"{found['seconds']:.0f} s",
    )
    return table(says, head, [row])
