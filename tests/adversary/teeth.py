"""Every racy spec of `tests/cases`, lowered in spite of what was found, before the adversary."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from cases.marks import marks
from cases.test_cases import FOLDER, JUDGED, RIGHT
from cases.test_variations import HEAD, PATHS

from plait.compiler.compile import Asked, compile_source, read_source
from plait.dsl.diagnostic import SpecError
from plait.dsl.library import load_library
from plait.dsl.settings import variants_of
from plait.dsl.span import Source
from plait.runtime.devices.adversary.device import Adversary
from plait.runtime.mixing.narrow import narrow
from plait.runtime.mixing.outcome import Trial
from plait.runtime.schedule import Schedule

ROUNDS = 6
RACES = ("PL2", "PL3", "PL407", "PL511")
"""How the codes of races begin, and of reading what is not there yet or no more."""
CAUSES = re.compile("|".join((*RACES, "PL40[1346]")))
"""What such may be told as: a branch that never comes back, a use before its await."""


@dataclass(frozen=True)
class Bite:
    """How a racy spec went wrong: the seed, and where its results part from those of the text."""

    name: str
    seed: int | None
    """None: for no seed that was tried."""
    where: str
    tried: int


def racy() -> Iterator[tuple[str, list[Schedule]]]:
    """Each case and variation, with its pipelines and variants in which something of the kind is found."""
    for case in JUDGED:
        if CAUSES.search(case.verdict):
            yield from _named(case.name, case.source(), recipe=case.recipe(), **case.asked)
    for path in PATHS:
        source = read_source(path)
        if not any(CAUSES.match(code) for _, code in marks(source)):
            continue
        head = HEAD.match(source.text)
        assert head is not None
        limits = (head[3],) if head[3] else ()
        yield from _named(path.stem, source, target=head[2], limits=limits)


def mended() -> Iterator[tuple[str, list[Schedule]]]:
    """Each case done right, and those that only look wrong."""
    for case in (*JUDGED, *RIGHT):
        form = ".mended" if (FOLDER / case.family / f"{case.name}.mended.spec").exists() else ""
        yield case.name, lowered(case.source(form), recipe=case.recipe(".mended"), **case.asked)


def _named(name: str, source: Source, **asked) -> Iterator[tuple[str, list[Schedule]]]:
    found = [one for one in lowered(source, **asked) if any(map(_is_racy, one.unchecked))]
    if found:
        yield name, found


def _is_racy(code: str) -> bool:
    return code.startswith(RACES)


def lowered(source: Source, **asked) -> list[Schedule]:
    """Of every pipeline and variant whose names and sizes are right, whatever else is wrong."""
    try:
        file = load_library(source).file
    except SpecError:
        return []
    found = []
    for pipeline in file.pipelines:
        for variant in (None, *(one.name.text for one in variants_of(file, pipeline))):
            these = Asked(pipeline.name.text, variant, unchecked=True, environment={}, **asked)
            try:
                found.append(narrow(compile_source(source, these)))
            except SpecError:
                continue
    return found


def bitten(name: str, schedules: list[Schedule], seeds: int) -> Bite:
    """The first seed for which one of the schedules gives another result than the text, line by line."""
    trials = [Trial(one, ROUNDS) for one in schedules]
    texts = [trial.text() for trial in trials]
    for seed in range(seeds):
        for trial, text in zip(trials, texts, strict=True):
            where = trial.parting(text, trial.run(Adversary(seed)))
            if where is not None:
                return Bite(name, seed, str(where), seed + 1)
    return Bite(name, None, "", seeds)
