"""Laws from measured times: a line where it foretells better, a table where it does not, no outlier heard."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from plait.compiler.calibrate.laws import error, law_of, line_of
from plait.compiler.timing.costs import Law


@given(
    st.integers(0, 10**6),
    st.integers(0, 10**6),
    st.lists(st.integers(1, 500), min_size=2, max_size=8, unique=True),
)
def test_times_on_a_line_give_that_line(fixed: int, row: int, rows: list[int]) -> None:
    """Also at rows that were not measured, to a nanosecond a row."""
    truth = Law(fixed, row * 1000)
    found = law_of({one: [truth.time(one)] for one in rows})
    assert all(abs(found.time(one) - truth.time(one)) <= one + 1 for one in range(1, 600, 37))


@given(st.lists(st.integers(1, 10**6), min_size=1, max_size=9))
def test_one_count_of_rows_gives_its_median(times: list[int]) -> None:
    """Whatever the rows that are asked for later."""
    found = law_of({8: times})
    assert found.time(1) == found.time(99) == sorted(times)[(len(times) - 1) // 2]


def test_a_step_is_a_table() -> None:
    """Where time does not grow with rows, a line foretells what it has not seen worse than a table."""
    steps = {1: [100], 2: [100], 4: [100], 5: [900], 8: [900], 16: [900]}
    assert law_of(steps) == Law(points=tuple((rows, seen[0]) for rows, seen in steps.items()))


def test_more_rows_never_take_less() -> None:
    """Times that fall are taken to be one, so that what lies behind the last does not fall on."""
    table = law_of({1: [100], 2: [100], 4: [500], 8: [900], 16: [880]})
    assert table.points == ((1, 100), (2, 100), (4, 500), (8, 890), (16, 890))
    assert table.time(64) == 890


def test_an_outlier_is_not_heard() -> None:
    """Of many times the median counts, and of many points the line that most are near."""
    assert law_of({1: [10, 11, 900], 2: [20, 21, 20]}).time(1) == 11
    line = line_of([(1, 110), (2, 120), (3, 130), (4, 9000), (5, 150)])
    assert [line.time(rows) for rows in (1, 2, 3, 5)] == [110, 120, 130, 150]


@given(st.dictionaries(st.integers(1, 300), st.integers(1, 10**7), min_size=1, max_size=12))
def test_no_law_foretells_a_negative_time(points: dict[int, int]) -> None:
    """And a line is at least as near to the points as the best that is flat."""
    found = law_of({rows: [time] for rows, time in points.items()})
    assert all(found.time(rows) >= 0 for rows in (0, 1, 50, 10_000))
    line, flat = line_of(sorted(points.items())), [Law(time) for time in points.values()]
    missed = sum(error(line, *one) for one in points.items())
    assert all(missed <= sum(error(law, *one) for one in points.items()) for law in flat)
