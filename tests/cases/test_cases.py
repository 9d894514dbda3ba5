"""Failures met in the field, each refused at its line, and mended each passes.

`README.md` has a row for every one of them. A row with codes has a spec that is refused: the lines that
findings stand at end in a comment with their codes, and what is said of them stands beside it, word for
word. `ID.mended.spec` is the same schedule done right. `pytest --update-golden` writes the words anew.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from cases.marks import judged, marks, places

from plait.compiler.compile import read_source
from plait.compiler.recipe.recipe import Recipe, read_recipe
from plait.dsl.codes import severity_of
from plait.dsl.diagnostic import Diagnostic
from plait.dsl.record import Record
from plait.dsl.span import Source

FOLDER = Path(__file__).parent
LATER = ("runtime", "trace")
"""What only a run, or a trace of one, can show."""
VERDICTS = ("clean", "not seen", *LATER)


class Case(Record):
    name: str
    family: str
    """The class of failure it is of, and the folder its files are in."""
    verdict: str
    """The codes it is refused or noted with; or one of `VERDICTS`."""
    on: str
    """The target it is judged for, and limits to it as a command line has them."""
    what: str

    @property
    def codes(self) -> tuple[str, ...]:
        return () if self.verdict in VERDICTS else tuple(self.verdict.split())

    @property
    def asked(self) -> dict:
        target, _, limits = self.on.partition(" --limit ")
        return {"target": target, "limits": tuple(limits.split())}

    @property
    def refused(self) -> bool:
        return any(severity_of(code) == "error" for code in self.codes)

    def source(self, form: str = "") -> Source:
        return read_source(FOLDER / self.family / f"{self.name}{form}.spec")

    def recipe(self, form: str = "") -> Recipe | None:
        path = FOLDER / self.family / f"{self.name}{form}.sh"
        return read_recipe(read_source(path)) if path.exists() else None


def rows() -> list[Case]:
    """The table of `README.md`."""
    lines = (FOLDER / "README.md").read_text(encoding="utf-8").splitlines()
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if "|" in line]
    return [Case(*row) for row in cells if re.fullmatch(r"[BSC]\d+", row[0])]


CASES = rows()
JUDGED = [case for case in CASES if case.codes]


def by_name(case: Case) -> str:
    return case.name


@pytest.mark.parametrize("case", JUDGED, ids=by_name)
def test_a_failure_is_found_at_its_line(case: Case, findings, shown) -> None:
    """The codes that its row says, each on the lines that say so, and nothing else."""
    source = case.source()
    found = judged(findings(source, recipe=case.recipe(), **case.asked))
    assert places(found, source) == marks(source), shown(found)
    assert {code for _, code in marks(source)} | launched(found, source) == set(case.codes)


@pytest.mark.parametrize("case", JUDGED, ids=by_name)
def test_a_failure_is_told_word_for_word(case: Case, findings, shown, golden) -> None:
    """Names of phases, streams and buffers, the witness and the mend, as a terminal shows them."""
    found = judged(findings(case.source(), recipe=case.recipe(), **case.asked))
    golden(f"../cases/{case.family}/{case.name}", shown(found))


@pytest.mark.parametrize("case", JUDGED, ids=by_name)
def test_a_mended_failure_passes(case: Case, findings, shown) -> None:
    """The same schedule done right has no finding."""
    form = ".mended" if (FOLDER / case.family / f"{case.name}.mended.spec").exists() else ""
    recipe = case.recipe(".mended")
    assert form or recipe, "nothing is mended"
    found = judged(findings(case.source(form), recipe=recipe, **case.asked))
    assert found == [], shown(found)


RIGHT = [case for case in CASES if case.verdict == "clean"]


@pytest.mark.parametrize("case", RIGHT, ids=by_name)
def test_what_is_right_is_not_flagged(case: Case, findings, shown) -> None:
    """Schedules that look wrong and are not."""
    found = judged(findings(case.source(), **case.asked))
    assert found == [], shown(found)


def test_every_failure_has_its_row() -> None:
    """All that were collected: 93 of the field, 34 mistakes of a real round, and what is right."""
    names = [case.name for case in CASES]
    assert len(set(names)) == len(names)
    assert [sum(name.startswith(letter) for name in names) for letter in "BS"] == [93, 34]
    assert all(case.codes or case.verdict in VERDICTS for case in CASES)


def test_most_failures_are_refused() -> None:
    """Of the 93, at least 60 here, and 80 with those that a run or a trace shows."""
    field = [case for case in CASES if case.name.startswith("B")]
    refused = sum(case.refused for case in field)
    assert refused >= 60
    assert refused + sum(case.verdict in LATER for case in field if not case.refused) >= 80


def test_every_file_is_of_a_row() -> None:
    """Nothing lies here that no test reads."""
    read = {f"{case.family}/{case.name}" for case in (*JUDGED, *RIGHT)}
    paths = [
        path
        for path in FOLDER.glob("*/*")
        if path.suffix in (".spec", ".sh", ".txt") and path.parent.name != "variations"
    ]
    assert {f"{path.parent.name}/{path.name.partition('.')[0]}" for path in paths} == read


def launched(found: list[Diagnostic], source: Source) -> set[str]:
    """Codes that are found in a recipe."""
    return {one.code for one in found if one.span.source.name != source.name}
