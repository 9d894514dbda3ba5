"""What is said of every rule's bad example and of every class of syntax mistake, word for word.

Each message stands in `tests/golden/NAME.txt`. A rule's is made from its own example; every other has
its text beside it, in `NAME.spec`. `pytest --update-golden` writes them anew, for `git diff` to show.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from plait.compiler.rules import RULES
from plait.compiler.rules.codes import MISTAKES

FOLDER = Path(__file__).parent / "golden"
TEXTS = {path.stem: path.read_bytes().decode() for path in sorted(FOLDER.glob("*.spec"))}
BY_CODE = {rule.code: rule for rule in (*RULES, *MISTAKES)}


@pytest.mark.parametrize("code", BY_CODE)
def test_a_rule_speaks_as_it_should(code: str, found_in_example, shown, golden) -> None:
    """The message of its bad example, as a terminal without colour shows it."""
    golden(code, shown(found_in_example(BY_CODE[code], 0)))


@pytest.mark.parametrize("name", TEXTS)
def test_a_mistake_reads_as_it_should(name: str, findings, shown, golden) -> None:
    """The same of a text that is wrong in one way."""
    golden(name, shown(findings(TEXTS[name])))


def test_every_rule_has_a_golden_message() -> None:
    """A new rule comes with its message; a message without a text it is made from is left over."""
    assert {path.stem for path in FOLDER.glob("*.txt")} == {*TEXTS, *BY_CODE}
