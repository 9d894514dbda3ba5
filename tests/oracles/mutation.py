"""Every edit of every example, and of the standard modules it calls, before all judges."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from random import Random

from oracles.ranks import fail
from oracles.routes import broken, lowered
from plait.compiler.compile import Asked, every_route, read_source
from plait.compiler.mutate.edits import Mutant, mutants
from plait.compiler.mutate.holding import unfit
from plait.compiler.mutate.meeting import unmatched
from plait.compiler.mutate.needed import unordered
from plait.compiler.mutate.score import JUDGED
from plait.compiler.mutate.spoiled import spoiled
from plait.dsl.diagnostic import Diagnostic, SpecError
from plait.dsl.library import STANDARD
from plait.dsl.parser import parse
from plait.dsl.span import Source

ROOT = Path(__file__).parents[2]
SMALLER = {
    "eagle_full": {"buckets": [1, 32], "layers": 3},
    "two_batch": {"count": 3},
    "offload": {"layers": 4},
}
"""Settings under which the largest are judged: fewer of what is alike."""
USE = re.compile(r"^use (\w+)$", re.MULTILINE)


@dataclass(frozen=True)
class Case:
    """A mutant of an example, or of a standard module as an example calls it."""

    example: str
    module: str | None
    mutant: Mutant

    def __str__(self) -> str:
        of = f"std/{self.module}, called by " if self.module else ""
        return f"{of}{self.example}, line {self.mutant.line}: {self.mutant.what}"


@dataclass
class Seen:
    counts: Counter[str] = field(default_factory=Counter)
    disagreed: list[str] = field(default_factory=list)


def cases() -> Iterator[Case]:
    """Those of every example, in order."""
    for path in sorted((ROOT / "examples").glob("*.spec")):
        source = read_source(path)
        yield from (Case(path.stem, None, one) for one in mutants(parse(source)))
        for module in sorted(_modules(source.text)):
            standard = read_source(STANDARD / f"{module}.spec")
            yield from (Case(path.stem, module, one) for one in mutants(parse(standard)))


def _modules(text: str) -> set[str]:
    """Standard modules that a text uses, and those that they use."""
    found: set[str] = set()
    for name in USE.findall(text):
        found |= {name, *_modules((STANDARD / f"{name}.spec").read_text(encoding="utf-8"))}
    return found


def tried(some: list[Case], folder: Path, seed: str) -> Seen:
    """What became of each; `folder` is for the files of the standard library, which are mutated too."""
    seen = Seen()
    for case in some:
        settings = SMALLER.get(case.example)
        asked = Asked(environment={}, settings=settings)
        errors, ours, theirs = _judged(_source(case, folder), asked, Random(f"{seed} {case}"))
        codes = {one.code for one in errors}
        if codes - JUDGED:
            seen.counts["refused for more than an order"] += 1
        elif bool(errors) == theirs == ours:
            seen.counts["refused" if errors else "passes"] += 1
        else:
            said = f"rules {sorted(codes)}, list {ours}, oracles {theirs}"
            seen.disagreed.append(f"{case}: {said}")
    return seen


def _judged(source: Source, asked: Asked, random: Random) -> tuple[list[Diagnostic], bool, bool]:
    """The errors, and whether something is missing by the plain lists, and by the oracles."""
    errors: list[Diagnostic] = []
    ours = theirs = False
    try:
        for orders, found in every_route(source, asked):
            errors += found
            if any(one.code not in JUDGED for one in errors):
                break
            if orders:
                rounds = [one.round for one in orders]
                full = any(
                    True for _ in chain(unfit(rounds), spoiled(rounds))
                )  # judged by that alone
                ours = (
                    full or ours or any(True for _ in chain(unordered(rounds), unmatched(rounds)))
                )
                theirs = full or theirs or broken(orders, random)
                theirs = theirs or fail(lowered(orders), orders, random, refused=ours)
    except SpecError as error:
        errors += error.diagnostics
    return errors, ours, theirs


def _source(case: Case, folder: Path) -> Source:
    """The example, which uses copies of the standard modules that lie in the folder."""
    if case.module is None:
        return case.mutant.source
    for path in STANDARD.glob("*.spec"):
        text = case.mutant.source.text if path.stem == case.module else path.read_text("utf-8")
        (folder / f"std_{path.name}").write_text(_local(text), encoding="utf-8")
    example = ROOT / "examples" / f"{case.example}.spec"
    return Source(example.name, _local(example.read_text(encoding="utf-8")), folder)


def _local(text: str) -> str:
    return USE.sub(r'use "std_\1.spec" as \1', text)
