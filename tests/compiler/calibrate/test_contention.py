"""Phases that slow each other down are told from those that do not."""

from __future__ import annotations

from plait.compiler.calibrate.contention import alone, shares, slowed
from plait.compiler.calibrate.samples import Ran
from plait.compiler.timing.sharing import FULL, speeds


def ran(name: str, time: int, *beside: str, times: int = 6) -> list[Ran]:
    return [Ran(name, 8, time, False, frozenset(beside))] * times


def test_two_that_were_both_slower_at_once_share() -> None:
    """By as much as the less of the two, and a simulation then slows them as much."""
    seen = ran("a", 100) + ran("b", 200) + ran("a", 160, "b") + ran("b", 310, "a")
    assert slowed(seen) == {("a", "b"): 1550}
    share = shares({("a", "b"): 1550})
    both = tuple(((0, share[name]),) for name in "ab")
    assert [FULL * 1000 // speed for speed in speeds(both)] == [1550, 1550]


def test_one_that_alone_was_slower_shares_nothing() -> None:
    """What slowed it down was something else: the other took as long as ever."""
    seen = ran("a", 100) + ran("b", 200) + ran("a", 160, "b") + ran("b", 200, "a")
    assert slowed(seen) == {}


def test_few_samples_say_nothing() -> None:
    """Neither of what it takes alone nor of what it takes beside another."""
    seen = ran("a", 100) + ran("b", 200) + ran("a", 300, "b", times=4) + ran("b", 400, "a")
    assert slowed(seen) == {}
    assert alone(ran("a", 300, "b", times=9) + ran("a", 100, times=2))[0].time == 300
    assert {one.time for one in alone(ran("a", 300, "b") + ran("a", 100))} == {100}
