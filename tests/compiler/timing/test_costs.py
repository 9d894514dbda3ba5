"""Cost profiles: laws, precedence, and one clear line for a wrong file."""

from __future__ import annotations

import pytest

from plait.compiler.target_file import TargetError
from plait.compiler.timing.costs import Cost, Law
from plait.compiler.timing.costs_file import load_profile

PROFILE = """\
name = "one die"
target = "ascend910c"
resources = ["cube", "memory"]
[host]
run = "4us"
[stream]
gap = "0.5us"
[phases.target]
rows = { 1 = "10us", 8 = "17us" }
uses = { cube = 0.6 }
[phases."nextn[1]"]
fixed = "5us"
row = "0.25ns"
[phases."*"]
fixed = "1us"
"""


def test_a_table_is_joined_by_lines() -> None:
    """Flat below the first point, and on behind the last as before it."""
    law = Law(points=((2, 100), (4, 200), (8, 220)))
    assert [law.time(rows) for rows in (1, 2, 3, 4, 6, 8, 12)] == [
        100,
        100,
        150,
        200,
        210,
        220,
        240,
    ]


def test_a_line_counts_picoseconds_a_row() -> None:
    """So that a row may take less than a nanosecond."""
    assert Law(10, 250).time(6) == 11


def test_a_phase_is_looked_up_by_name_base_spec_and_last_as_any(tmp_path) -> None:
    """The nearest word holds."""
    path = tmp_path / "costs.toml"
    path.write_text(PROFILE)
    profile = load_profile(path)
    assert profile.of("target", "target", 3) == Cost(
        Law(points=((1, 10_000), (8, 17_000))), ((0, 600),)
    )
    assert profile.of("nextn[1]", "nextn", 3) == Cost(Law(5_000, 250))
    assert profile.of("nextn[2]", "nextn", 3) == Cost(Law(3))
    assert profile.of("nextn[2]", "nextn", None) == Cost(Law(1_000))
    assert (profile.host.run, profile.stream.gap) == (4_000, 500)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('run = "4us"', 'rum = "4us"', "`host.rum` is not read; did you mean `run`?"),
        (
            'row = "0.25ns"',
            "row = 4",
            "`phases.nextn[1].row` should be a time such as 1.5ns or 1.5us or 1.5ms, not 4",
        ),
        ('"4us"', "4", "`host.run` should be a time such as 1.5ns or 1.5us or 1.5ms, not 4"),
        (
            "cube = 0.6",
            "cube = 1.6",
            "`phases.target.uses.cube` should be a share above 0 and up to 1",
        ),
        ("{ cube", "{ cub", "`phases.target.uses.cub` is no resource; did you mean `cube`?"),
        (
            "{ 1 =",
            "{ one =",
            "`phases.target.rows` maps rows to times, and `one` is no count of rows",
        ),
        (
            'row = "0.25ns"',
            'rows = { 1 = "1us" }',
            "`phases.nextn[1]` has both points and a line: keep `rows`, or `fixed` and `row`",
        ),
        (
            "[stream]",
            "[classes.coppy]\n[stream]",
            "`classes.coppy` is no class of streams; did you mean `copy`?",
        ),
        ('name = "one die"\n', "", "there should be a line `name = ...` with a text"),
        ('"0.5us"', '"9999999ms"', "`stream.gap` is longer than an hour"),
    ],
)
def test_a_wrong_file_is_one_line(old: str, new: str, said: str, tmp_path) -> None:
    """Which key, and what should stand there."""
    path = tmp_path / "costs.toml"
    path.write_text(PROFILE.replace(old, new))
    with pytest.raises(TargetError) as error:
        load_profile(path)
    assert str(error.value) == f"{path}: {said}"
