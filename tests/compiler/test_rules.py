"""Every rule refuses its own bad example, or has a note on it, and passes the mended one."""

from __future__ import annotations

import pytest

from plait.compiler.rules import ACROSS, MODULES, NOTES, RULES
from plait.compiler.rules.codes import MISTAKES
from plait.compiler.rules.families import FAMILIES
from plait.compiler.rules.outside import OUTSIDE
from plait.compiler.rules.rule import Rule
from plait.dsl.codes import CODES

PAGES = (*RULES, *MISTAKES)
BY_CODE = {rule.code: rule for rule in PAGES}


def test_codes_are_distinct() -> None:
    """One code, one rule."""
    assert len(BY_CODE) == len(PAGES)


@pytest.mark.parametrize("rule", PAGES, ids=lambda rule: rule.code)
def test_a_rule_is_its_own_documentation(rule: Rule) -> None:
    """Title, reason and both examples are there, and the page has them."""
    assert rule.title and rule.why and rule.bad and rule.mended
    page = rule.page()
    assert page.startswith(f"{rule.code}: {rule.title}")
    assert all(line in page for line in rule.bad.splitlines())


@pytest.mark.parametrize("rule", PAGES, ids=lambda rule: rule.code)
def test_a_bad_example_is_refused(rule: Rule, found_in_example) -> None:
    """The bad example breaks that rule, or earns its note, and nothing else but what follows from it."""
    found = found_in_example(rule, 0)
    assert [diagnostic.code for diagnostic in found] == [rule.code]
    assert found[0].severity == rule.severity
    assert found[0].help or found[0].fix


@pytest.mark.parametrize("rule", PAGES, ids=lambda rule: rule.code)
def test_a_mended_example_is_sound(rule: Rule, found_in_example) -> None:
    """The same spec, right, is passed without a word."""
    assert found_in_example(rule, 1) == []


def test_every_code_has_a_page() -> None:
    """Those of rules, and every other that is ever given."""
    assert {rule.code for rule in MISTAKES} == set(CODES)


def test_every_rule_module_is_listed(root) -> None:
    """A rule file that nobody lists would never be asked."""
    folder = root / "compiler" / "rules"
    files = {path.stem for path in folder.glob("*.py")} - {
        *("__init__", "codes", "families", "outside", "pages", "rule")
    }
    listed = {
        module.__name__.rpartition(".")[2] for module in (*MODULES, *ACROSS, *OUTSIDE, *NOTES)
    }
    late = {name for one in FAMILIES for name in one.names}
    assert files == listed | late | {"too_many_streams"}


def test_a_fork_into_the_stream_it_leaves_is_no_branch(findings) -> None:
    """With a stream collapsed onto another, what was a fork of it is not one that never comes back."""
    text = """\
spec 1
pipeline p {
  flag apart = env("PLAIT_APART", false)
  stream main
  stream side if apart else main
  buffer x : i64[4]
  buffer y : i64[4]
  phase make on main { writes x }
  fork side from make
  phase look on side { reads x  writes y }
  join side into main
}
variant split of p { set apart = true }
"""
    assert findings(text, small=True) == []
