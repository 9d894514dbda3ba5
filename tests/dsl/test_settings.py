"""What specialises a pipeline: `--set`, variants, the environment, defaults, in that order."""

from __future__ import annotations

import pytest

SPEC = """\
spec 1
pipeline p {
  param n = 2
  param m = n + 1
  flag  fast = env("PLAIT_TEST_ON", true)
  flag  size = env("PLAIT_TEST_SIZE", 4)
  stream main
  buffer x : i64[m]
  phase a on main { writes x }
}
variant big of p { set n = 10  set fast = false }
"""


def settings(compiled, **asked) -> dict:
    return dict(compiled(SPEC, **asked).settings)


def test_a_default_may_use_what_stands_above(compiled) -> None:
    """Params are worked out in the order of the text."""
    assert settings(compiled) == {"n": 2, "m": 3, "fast": True, "size": 4}


def test_what_is_given_stands_above_all(compiled) -> None:
    """Given settings beat the variant, which beats the environment, which beats the default."""
    environment = {"PLAIT_TEST_ON": "1", "PLAIT_TEST_SIZE": " 7 "}
    found = settings(compiled, variant="big", settings={"n": 5}, environment=environment)
    assert found == {"n": 5, "m": 6, "fast": False, "size": 7}


def test_a_schedule_names_the_environment_it_read(compiled) -> None:
    """Variables that flags name are kept with the schedule, set or not."""
    schedule = compiled(SPEC, environment={"PLAIT_TEST_SIZE": "8", "OTHER": "x"})
    assert schedule.environment == (("PLAIT_TEST_ON", None), ("PLAIT_TEST_SIZE", "8"))


@pytest.mark.parametrize(
    ("asked", "code", "message", "help"),
    [
        (
            {"settings": {"k": 1}},
            "PL105",
            "`p` has no param or flag `k`",
            "known here: fast, m, n, size",
        ),
        (
            {"settings": {"n": True}},
            "PL106",
            "`n` is a whole number (2), not a truth value",
            "give a whole number, as `n=2` does",
        ),
        ({"variant": "bug"}, "PL105", "`p` has no variant `bug`", "did you mean `big`?"),
        ({"pipeline": "q"}, "PL105", "there is no pipeline `q`", "known here: p"),
        (
            {"environment": {"PLAIT_TEST_ON": "maybe"}},
            "PL106",
            'the environment has PLAIT_TEST_ON="maybe", which is not a truth value',
            "unset or correct PLAIT_TEST_ON",
        ),
    ],
)
def test_a_setting_that_does_not_fit_is_named(asked, code, message, help, findings) -> None:
    """Unknown names come with the nearest known one, wrong kinds with a form that fits."""
    diagnostic = findings(SPEC, **asked)[0]
    assert (diagnostic.code, diagnostic.message, diagnostic.help) == (code, message, help)


@pytest.mark.parametrize(
    ("word", "truth"), [("1", True), ("Yes", True), ("off", False), ("", False)]
)
def test_the_usual_words_of_an_environment_are_truths(word: str, truth: bool, compiled) -> None:
    """Recipes write 1, true, yes or on; empty and 0 are off."""
    assert settings(compiled, environment={"PLAIT_TEST_ON": word})["fast"] is truth
