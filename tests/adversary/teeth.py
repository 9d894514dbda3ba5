"""Every racy spec of `tests/cases`, lowered in spite of what was found, before the adversary."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from cases.test_cases import JUDGED
from cases.test_variations import HEAD, PATHS
from plait.compiler.compile import Asked, compile_source, read_source
from plait.dsl.diagnostic import SpecError
from plait.dsl.library import load_library
from plait.dsl.settings import variants_of
from plait.dsl.span import Source
from plait.runtime.devices.adversary.device import Adversary
from plait.runtime.mixing.narrow import narrow
from plait.runtime.mixing.outcome import Outcome, mixed, parting
from plait.runtime.schedule import Schedule

ROUNDS = 6
RACES = ("PL2", "PL3", "PL407", "PL511")
"""How the codes begin that say: two touch one memory without an order, or what is there is not yet, or no more."""


@dataclass(frozen=True)
class Bite:
    """How a racy spec went wrong: the seed, and where its results part from those of the text."""

    name: str
    seed: int | None
    """None: for no seed that was tried."""
    where: str
    tried: int


def racy() -> Iterator[tuple[str, list[Schedule]]]:
    """Every case and variation, with its pipelines and variants in which something of the kind is found."""
    for case in JUDGED:
        yield case.name, _schedules(case.source(), recipe=case.recipe(), **case.asked)
    for path in PATHS:
        source = read_source(path)
        head = HEAD.match(source.text)
        assert head is not None
        limits = (head[3],) if head[3] else ()
        yield path.stem, _schedules(source, target=head[2], limits=limits)


def _schedules(source: Source, **asked) -> list[Schedule]:
    try:
        file = load_library(source).file
    except SpecError:
        return []  # not even its names are right
    found = []
    for pipeline in file.pipelines:
        for variant in (None, *(one.name.text for one in variants_of(file, pipeline))):
            these = Asked(pipeline.name.text, variant, unchecked=True, environment={}, **asked)
            try:
                made = compile_source(source, these)
            except SpecError:
                continue
            if any(code.startswith(RACES) for code in made.unchecked):
                found.append(narrow(made))
    return found


def bitten(name: str, schedules: list[Schedule], seeds: int) -> Bite:
    """The first seed for which one of the schedules gives another result than the text, line by line."""
    texts = [mixed(one, Adversary(None), ROUNDS) for one in schedules]
    for seed in range(seeds):
        for schedule, text in zip(schedules, texts, strict=True):
            where = parting(schedule, ROUNDS, text, mixed(schedule, Adversary(seed), ROUNDS))
            if where is not None:
                return Bite(name, seed, str(where), seed + 1)
    return Bite(name, None, "", seeds)


__all__ = ["Bite", "Outcome", "bitten", "racy"]
