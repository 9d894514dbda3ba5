"""One round as the rules, the interleavings and torch's sanitizer see it."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from random import Random

from oracles.interleavings import Machine
from oracles.routes import different_routes, lowered, sequences
from oracles.sanitizer import verdict
from oracles.trace import Step, rounds_of, trace
from plait.compiler.check import check
from plait.compiler.elaboration.elaborate import elaborate
from plait.compiler.order import Order
from plait.compiler.round import Round
from plait.compiler.target import load_target
from plait.dsl.diagnostic import Diagnostic, Overlap, Report
from plait.dsl.library import load_library
from plait.dsl.settings import settings_for
from plait.dsl.span import Source
from plait.runtime.schedule import Schedule

RACES = {"PL201", "PL203"}
MOST_BEFORE = 16
"""Sequences of routes that a witness is replayed after; beyond it, each route alone, repeated."""


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
        return [one for one in self.errors if one.code in RACES]

    @property
    def agreed(self) -> bool:
        """Whether the three say the same, and the rules nothing but races and what follows from them."""
        refused = bool(self.races)
        others = {one.code for one in self.errors} - RACES - {"PL401"}
        alike = self.different == self.unordered == refused == bool(self.errors)
        return alike and self.shown and not others


def judged(text: str, random: Random) -> Judged:
    """A round, proven, and lowered even where it is refused."""
    report = Report()
    orders = check(_routes(text), load_target("cpu"), report)
    errors = [one for error in report.errors for one in error.with_following()]
    different = unordered = False
    every = True
    schedule = lowered(orders)
    for sequence in sequences(schedule):
        steps = trace(schedule, sequence)
        machine = Machine(steps)
        found = machine.search(random)
        every = every and found.every
        order = found.different or machine.somewhere(random)[0]
        different = different or machine.different(order)
        unordered = unordered or bool(verdict(steps))
    overlaps = [one.overlap for one in errors if one.overlap is not None]
    shown = all(_shown(one, orders, schedule) for one in overlaps)
    return Judged(errors, different, every, unordered, shown)


def _routes(text: str) -> list[Round]:
    library = load_library(Source("random.spec", text))
    pipeline, report = library.file.pipelines[0], Report()
    rounds = elaborate(pipeline, library, settings_for(library.file, pipeline), report)
    assert not report.errors, report.errors
    return rounds


def _shown(overlap: Overlap, orders: list[Order], schedule: Schedule) -> bool:
    """Whether the two overlap with effect in the routes it names, whatever routes came before them."""
    pairs = zip(orders, schedule.buckets, strict=True)
    buckets = {order.round.where: bucket for order, bucket in pairs}
    named = tuple(buckets[where] for where in overlap.routes)
    before = max(rounds_of(schedule) - len(named), 0)
    kept = different_routes(schedule)
    every = len(kept) ** before <= MOST_BEFORE
    some = product(kept, repeat=before) if every else ((one,) * before for one in kept)
    return all(_in_sequence(overlap, trace(schedule, (*one, *named))) for one in some)


def _in_sequence(overlap: Overlap, steps: list[Step]) -> bool:
    machine = Machine(steps)
    order = machine.replayed(overlap.earlier, overlap.later, overlap.apart)
    return order is not None and machine.different(order)
