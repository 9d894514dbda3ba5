"""One round as the rules, the interleavings and torch's sanitizer see it."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from drawing.rounds import elaborated
from oracles.interleavings import Machine
from oracles.sanitizer import verdict
from oracles.trace import rounds_of, trace
from plait.compiler.check import check
from plait.compiler.lower import lower
from plait.compiler.target import load_target
from plait.dsl.diagnostic import Diagnostic, Report
from plait.runtime.schedule import Digest

RACE = "PL201"


@dataclass(frozen=True)
class Judged:
    errors: list[Diagnostic]
    """Of the rules."""
    different: bool
    """Whether some interleaving that was tried has another result than the text."""
    every: bool
    """Whether all of them were tried."""
    unordered: bool
    """Whether the sanitizer says so."""
    shown: bool
    """Whether the run of every race's witness has another result than the text."""

    @property
    def races(self) -> list[Diagnostic]:
        return [one for one in self.errors if one.code == RACE]

    @property
    def agreed(self) -> bool:
        """Whether the three say the same, and the rules nothing but races and what follows from them."""
        refused = bool(self.races)
        others = {one.code for one in self.errors} - {RACE, "PL401"}
        alike = self.different == self.unordered == refused == bool(self.errors)
        return alike and self.shown and not others


def judged(text: str, random: Random) -> Judged:
    """A round of one route, proven, and lowered even where it is refused."""
    round = elaborated(text)
    report = Report()
    orders = check([round], load_target("cpu"), report)
    digest = Digest("random.spec", "0" * 64)
    schedule = lower(
        orders,
        variant=None,
        compiler="test",
        sources=[],
        digests=[digest],
        target=digest,
        environment={},
    )
    steps = trace(schedule, [schedule.buckets[0]] * rounds_of(schedule))
    machine = Machine(steps)
    searched = machine.search(random)
    found = searched.different
    different = found is not None and machine.different(found)
    errors = [one for error in report.errors for one in error.with_following()]
    if found is None:
        order, _ = machine.somewhere(random)
        different = machine.different(order)
    return Judged(errors, different, searched.every, bool(verdict(steps)), _shown(machine, errors))


def _shown(machine: Machine, errors: list[Diagnostic]) -> bool:
    for one in errors:
        if one.overlap is not None:
            order = machine.replayed(one.overlap.earlier, one.overlap.later, one.overlap.apart)
            if order is None or not machine.different(order):
                return False
    return True
