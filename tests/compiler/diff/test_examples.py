"""Every variant of every example against the example, and pairs that belong together, word for word.

What is said stands in `tests/golden/diff/NAME.txt`; `pytest --update-golden` writes it anew.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from plait.compiler.compile import Asked, compile_source, read_source
from plait.compiler.diff.diff import Diff, diff
from plait.compiler.diff.side import Side
from plait.compiler.measures.measures import measures
from plait.compiler.timing.costs import Cost, HostCosts, Law, Profile, StreamCosts
from plait.dsl.library import load_library
from plait.dsl.settings import variants_of
from plait.runtime.schedule import Schedule

ROOT = Path(__file__).parents[3]
GOLDEN = ROOT / "tests" / "golden" / "diff"
SMALLER = {"eagle_full": {"layers": 3}, "expert_parallel": {"layers": 2}, "two_batch": {"count": 2}}
"""Settings under which the largest are compiled."""
PAIRS = [("eagle", "eagle_serial"), ("eagle", "dspark")]
EVERY = Cost(Law(20_000, 500_000))
PROFILE = Profile(
    "a test",
    "cpu",
    (),
    HostCosts(run=3000, replay=6000, load=1000, record=500, wait=500, block=2000, vote=5000),
    StreamCosts(record=700, wait=900, load=2000, replay=4000, gap=1000),
    (("*", EVERY),),
)
"""Costs of no device, which no change of a target's moves."""


def variants() -> list[tuple[str, str]]:
    found = []
    for path in sorted((ROOT / "examples").glob("*.spec")):
        file = load_library(read_source(path)).file
        for pipeline in file.pipelines:
            found += [(path.stem, one.name.text) for one in variants_of(file, pipeline)]
    return found


CASES = {
    **{f"{name}@{variant}": ((name, None), (name, variant)) for name, variant in variants()},
    **{f"{first}, {second}": ((first, None), (second, None)) for first, second in PAIRS},
}


@cache
def schedule(name: str, variant: str | None) -> Schedule:
    source = read_source(ROOT / "examples" / f"{name}.spec")
    return compile_source(source, Asked(variant=variant, settings=SMALLER.get(name)))


def compared(first: tuple[str, str | None], second: tuple[str, str | None]) -> Diff:
    def side(name: str, variant: str | None) -> Side:
        made = schedule(name, variant)
        bucket = made.buckets.index(made.widest)
        found = measures(made, PROFILE, bucket)
        title = name if variant is None else f"{name}@{variant}"
        return Side(title, made, bucket, (), PROFILE, found)

    return diff(side(*first), side(*second))


@pytest.mark.parametrize("case", CASES)
def test_a_variant_differs_as_it_should(case: str, golden) -> None:
    """The page of its diff."""
    golden(f"diff/{case}", str(compared(*CASES[case])))


def test_every_golden_diff_is_made_from_something() -> None:
    """One that no variant or pair has any more is left over."""
    assert {path.stem for path in GOLDEN.glob("*.txt")} == set(CASES)
