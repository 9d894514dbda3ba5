"""Random rounds of ranks: the rules refuse those in which some ranks hang or mismatch, and no other."""

from __future__ import annotations

from collections import Counter
from random import Random

from oracles.ranks import fail
from oracles.routes import lowered
from plait.compiler.compile import Asked, every_route
from plait.compiler.mutate.meeting import unmatched
from plait.compiler.mutate.score import RANKS
from plait.dsl.span import Source
from soak.__main__ import commit

TEXTS = 200
GROUPS = {"tp": "", "attn": " in tp", "dp": ""}
KINDS = ("all_reduce", "all_gather", "all_to_all")


def drawn(random: Random) -> str:
    """A pipeline with choices of all kinds, and collectives that some of them have a say in."""
    lines = [f"group {name}{inside}" for name, inside in GROUPS.items()]
    over = random.choice(["", " over dp", " over tp", " same over tp", " same over attn"])
    lines += [f"dim bs in [1, 2]{over}", "stream s", "stream t", "buffer x : i64[bs] carried"]
    guards = [f"g{number}" for number in range(random.randint(0, 2))]
    for name in guards:
        over = random.choice(["", " over tp", " over attn", " over dp"])
        lines.append(f"guard {name}{over}")
    conditions = ["bs == 1", *guards, *(f"not {name}" for name in guards)]
    if random.random() < 0.3:
        one, other = (
            f"phase {name} on {random.choice('st')} {{ reads x  collective all_to_all over {group} }}"
            for name, group in zip("ab", random.sample(list(GROUPS), 2), strict=True)
        )
        wait = random.choice(["", "join s into host", "join t into s join s into t"])
        condition = random.choice(conditions)
        lines.append(f"when {condition} {{ {one} {wait} {other} }} else {{ {other} {wait} {one} }}")
    for number in range(random.randint(0, 4)):
        kind, group = random.choice(KINDS), random.choice(list(GROUPS))
        skip = random.choice(["", "", "", " skip_idle"])
        stream = random.choice("sst")
        phase = f"phase p{number} on {stream}{skip} {{ reads x  collective {kind} over {group} }}"
        if random.random() < 0.5:
            phase = f"when {random.choice(conditions)} {{ {phase} }}"
        lines.append(phase)
        if random.random() < 0.3:
            lines.append(random.choice(["join s into t", "join t into s", "join s into host"]))
    return "\n".join(["spec 1", "pipeline p {", *lines, "}", ""])


def test_ranks_are_refused_just_where_some_hang_or_mismatch() -> None:
    """By two ranks with everything each may choose, and by a grid of ranks that run."""
    seen: Counter[str] = Counter()
    for number in range(TEXTS):
        random = Random(f"{commit()} {number}")
        text = drawn(random)
        for orders, found in every_route(Source("p.spec", text), Asked(environment={})):
            codes = {one.code for one in found if one.code in RANKS}
            if {one.code for one in found if one.severity == "error"} - set(RANKS):
                continue
            ours = next(unmatched([one.round for one in orders]), None) is not None
            theirs = fail(lowered(orders), orders, random, refused=bool(codes))
            assert bool(codes) == ours == theirs, (text, codes, ours, theirs)
            seen.update(codes or ["sound"])
    assert min(seen["sound"], seen["PL451"], seen["PL452"], seen["PL453"]) > TEXTS // 20, seen
