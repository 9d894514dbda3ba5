"""Expressions to values: the same as Python where Python is right, an error at its place elsewhere."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plait.dsl.build import LARGEST
from plait.dsl.diagnostic import SpecError
from plait.dsl.parser import parse_expression
from plait.dsl.span import Source
from plait.dsl.values import Dtype, Measure, evaluate, written

SCOPE = {"n": 3, "yes": True, "sizes": [1, 2, 4], "mode": "verify", "half": 0.5}


def value(text: str):
    return evaluate(parse_expression(Source("e", text)), SCOPE)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("n + 1", 4),
        ("-n - -2", -1),
        ("7 // 2 + 7 % 4", 6),
        ("7 / 2", 3.5),
        ("sizes[n - 1]", 4),
        ("len(sizes) == 3 and max(sizes) == 4 and min(2, n) == 2", True),
        ("ceil_div(7, 2)", 4),
        ('mode in ["extend", "mixed"]', False),
        ("not n > 3", True),
        ("yes or n // 0 == 1", True),
        ("false and n // 0 == 1", False),
        ("1 == 1.0", True),
        ('[1, [true, "a"]]', [1, [True, "a"]]),
        ("35us + 2ms", Measure(2_035_000, "ns")),
        ("-(1.5us - 2us)", Measure(500, "ns")),
        ("4MiB // 3", Measure((4 << 20) // 3, "B")),
        ("2 * 35us < 1ms and 1024KiB == 1MiB", True),
        ("4MiB / 1KiB", 4096.0),
        ("max(1us, 2us, 3ns)", Measure(2_000, "ns")),
        ("bf16", Dtype("bf16")),
        ("bf16 == bf16 and bf16 != f32", True),
    ],
)
def test_an_expression_has_its_value(text: str, expected: object) -> None:
    """Operators and functions do what their names say; `and` and `or` stop when they know."""
    found = value(text)
    assert found == expected and type(found) is type(expected)


@pytest.mark.parametrize(
    ("text", "code", "at", "message"),
    [
        ("n + yes", "PL102", 5, "a number should stand here, not a truth value (true)"),
        ("missing", "PL101", 1, "`missing` is not a param, flag, dim or loop name"),
        ("sizes[3]", "PL103", 7, "`sizes` has 3 items, counted from 0; there is no item 3"),
        ("n[0]", "PL102", 1, "`n` is a whole number, so it has no items"),
        ("n / 0", "PL103", 5, "`n / 0` divides by zero"),
        ('n == "3"', "PL102", 1, "a whole number is never equal to a text"),
        ("true == 1", "PL102", 1, "a truth value is never equal to a whole number"),
        ("not n", "PL102", 5, "true or false should stand here, not a whole number (3)"),
        ("n in n", "PL102", 6, "a list should stand here, not a whole number (3)"),
        ("size(n)", "PL101", 1, "`size` is not a function"),
        ("len(1, 2)", "PL102", 1, "`len` takes 1 value, not 2"),
        ("35us + 4MiB", "PL102", 1, "`+` has no meaning between a time and a size"),
        ("35us + n", "PL102", 1, "`+` has no meaning between a time and a whole number"),
        ("35us * 0.5", "PL102", 1, "`*` has no meaning between a time and a fraction"),
        ("35us // 0", "PL103", 9, "`35us // 0` divides by zero"),
        ("0.3ns", "PL103", 1, "`0.3ns` is no whole number of ns"),
        ("9999999999999GiB", "PL103", 1, "a time or a size has at most 63 bits"),
        ("min(1us, 2)", "PL102", 10, "a time should stand here, not a whole number (2)"),
        ("bf16 == 16", "PL102", 1, "a type of elements is never equal to a whole number"),
        ("max()", "PL102", 1, "`max` needs at least one number"),
        ('env("A", 1)', "PL102", 1, "`env` stands only as the whole value of a flag"),
        ("9223372036854775807 + 1", "PL103", 1, "the result has more than 63 bits"),
        ("9223372036854775808", "PL103", 1, "a whole number has at most 63 bits"),
        ("ceil_div(1, 0)", "PL103", 13, "`ceil_div(1, 0)` divides by zero"),
    ],
)
def test_a_wrong_kind_is_an_error_at_its_place(text: str, code: str, at: int, message: str) -> None:
    """Never an exception, never a guess: the operand is named, with what should stand there."""
    with pytest.raises(SpecError) as caught:
        value(text)
    (diagnostic,) = caught.value.diagnostics
    assert (diagnostic.code, diagnostic.span.column, diagnostic.message) == (code, at, message)


numbers = st.integers(-(10**6), 10**6)
sums = st.recursive(
    numbers.map(lambda n: f"({n})" if n < 0 else str(n)),
    lambda inner: st.tuples(inner, st.sampled_from(["+", "-", "*", "//", "%"]), inner).map(
        lambda parts: f"({parts[0]} {parts[1]} {parts[2]})"
    ),
    max_leaves=8,
)


@given(sums)
def test_whole_numbers_agree_with_python(text: str) -> None:
    """On random arithmetic the value is Python's, or the error is for the reason Python's is."""
    try:
        expected = eval(text)
    except ZeroDivisionError:
        expected = None
    try:
        found = evaluate(parse_expression(Source("e", text)), {})
    except SpecError as error:
        assert error.diagnostics[0].code == "PL103"
        assert expected is None or "63 bits" in error.diagnostics[0].message
    else:
        assert isinstance(found, int) and found == expected and abs(found) <= LARGEST


values = st.recursive(
    st.booleans() | st.integers(0, LARGEST) | st.text("abc ", max_size=5),
    lambda inner: st.lists(inner, max_size=4),
    max_leaves=8,
)


@given(values)
def test_a_written_value_reads_back(one) -> None:
    """What settings and messages write is what the language reads."""
    assert evaluate(parse_expression(Source("e", written(one))), {}) == one


@pytest.mark.parametrize(
    ("amount", "counts", "text"),
    [
        (2_035_000, "ns", "2035us"),
        (3, "ns", "3ns"),
        (0, "B", "0GiB"),
        (5 << 20, "B", "5MiB"),
        (1000, "B", "0.9765625KiB"),
    ],
)
def test_a_measure_is_written_in_the_largest_unit_that_holds_it(
    amount: int, counts: str, text: str
) -> None:
    """What is written reads back as the same."""
    measure = Measure(amount, counts)
    assert written(measure) == text and value(text) == measure
