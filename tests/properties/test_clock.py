"""A clock made of parts says what a tuple of all its entries would."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from plait.compiler.clock import PART, Clock, advanced, earliest, latest, zero

WIDTH = 2 * PART + 3
STEPS = st.lists(st.tuples(st.integers(0, WIDTH - 1), st.integers(0, 9)), max_size=12)


def entries(clock: Clock) -> list[int]:
    return [clock[coordinate] for coordinate in range(WIDTH)]


def made(steps: list[tuple[int, int]]) -> Clock:
    clock = zero(WIDTH)
    for coordinate, index in steps:
        clock = advanced(clock, coordinate, index)
    return clock


@given(STEPS, STEPS, STEPS)
def test_parts_are_joined_entry_by_entry(
    shared: list[tuple[int, int]], one: list[tuple[int, int]], other: list[tuple[int, int]]
) -> None:
    """What either or both know is worked out as for every queue alone, also where clocks share parts."""
    a, b = made(shared + one), made(shared + other)
    assert entries(latest(a, b)) == list(map(max, entries(a), entries(b)))
    assert entries(earliest(a, b)) == list(map(min, entries(a), entries(b)))
    assert (a == b) == (entries(a) == entries(b))


@given(STEPS)
def test_an_entry_is_the_last_that_was_set(steps: list[tuple[int, int]]) -> None:
    """Setting the entry of one queue leaves all others."""
    expected = [0] * WIDTH
    for coordinate, index in steps:
        expected[coordinate] = index
    assert entries(made(steps)) == expected
