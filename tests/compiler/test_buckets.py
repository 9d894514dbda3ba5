"""Buckets chosen for the sizes that were seen: what is read, ruled out, chosen and written."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plait.compiler.buckets.histogram import HistogramError, read_histogram
from plait.compiler.buckets.plan import NoPlan, Plan, planned
from plait.compiler.buckets.trial import Trial
from plait.compiler.budgets.asked import bill_asked
from plait.compiler.compile import Asked
from plait.compiler.target import load_target
from plait.dsl import syntax
from plait.dsl.diagnostic import SpecError
from plait.dsl.library import load_library
from plait.dsl.span import Source

EXAMPLES = Path(__file__).parents[2] / "examples"

SEEN = {1: 100, 3: 500, 5: 50, 7: 20, 8: 1}


def spec(lines: str, dim: str = "dim bs in [1, 2, 4, 8]", after: str = "") -> str:
    return f"""\
spec 1
pipeline p {{
  {dim}
  stream main
{lines}
}}
{after}"""


STEP = """\
  buffer x : i64[bs] carried
  capture g on main rows bs { phase step on main { updates x } }"""


def plan(text: str, counts: dict[int, int] = SEEN, dim=None, most=None, **asked) -> Plan:
    return planned(Source("test.spec", text), Asked(**asked), dim, counts, most)


@pytest.mark.parametrize(
    "text",
    [
        "1 100\n4 20\n",
        "size,count\n1,100\n\n4,15  # the rest below\n4,5\n",
        "# bs: seen\n1: 100\n4 ; 20\n",
        '{"1": 100, "4": 15,\n "4": 5}',
    ],
)
def test_a_histogram_is_lines_or_an_object(text: str) -> None:
    """Sizes with how often they were seen; what is said twice adds up."""
    assert read_histogram("seen", text) == {1: 100, 4: 20}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "1 100\nfour 20\n",
            "seen:2: 'four 20' is not a size and a count, as in `4 120` or `4,120`",
        ),
        ("1 -1\n", "seen:1: '1 -1' is not a size and a count, as in `4 120` or `4,120`"),
        ("1\n", "seen:1: '1' is not a size and a count, as in `4 120` or `4,120`"),
        ("0 3\n", "seen:1: a size is from 1 to 2^48, not 0"),
        ("", "seen: no size was seen; write lines of a size and a count, `4 120`"),
        ("4 0\n", "seen: no size was seen; write lines of a size and a count, `4 120`"),
        ('{"1": 100,\n "4" 20}', "seen:2: is not JSON (Expecting ':' delimiter)"),
        (
            '{"1": 100,\n "4": 2.5}',
            "seen:2: '4' is not a size with a whole count, as in `{\"4\": 120}`",
        ),
        (
            '{"1": 100,\n "b": 2}',
            "seen:2: 'b' is not a size with a whole count, as in `{\"4\": 120}`",
        ),
        (
            '{"1": {"2": 3}}',
            "seen:1: '1' is not a size with a whole count, as in `{\"4\": 120}`",
        ),
        ("[1, 2]", 'seen:1: is a list; write an object of counts by size, `{"4": 120}`'),
        ("[" * 100_000, 'seen: is nested too deep; write an object, `{"4": 120}`'),
        (
            "\n".join(f"{size} 1" for size in range(1, 3000)),
            "seen:2049: more than 2,048 different sizes; round them up to fewer",
        ),
    ],
)
def test_a_bad_histogram_is_one_clear_error(text: str, message: str) -> None:
    """With the line, what stands there and what should."""
    with pytest.raises(HistogramError) as error:
        read_histogram("seen", text)
    assert str(error.value) == message


def test_as_many_buckets_as_now_pad_fewest_rows() -> None:
    """The default length is that of the list there is; both are measured over the sizes seen."""
    found = plan(spec(STEP))
    assert found.buckets == [1, 3, 5, 8]
    assert (found.padded_now, found.padded) == (500 + 150 + 20, 20)
    assert found.statement == "dim bs in [1, 3, 5, 8]"


def test_rounds_over_the_largest_bucket_are_counted_apart() -> None:
    """They are padded by no bucket of now, and held by those chosen."""
    found = plan(spec(STEP, "dim bs in [1, 4]"))
    assert (found.too_large, found.padded_now, found.buckets) == (71, 500, [3, 8])


def test_what_is_required_of_a_dim_is_kept() -> None:
    """A size that breaks a `require` is left out, and the next that does not holds its rounds."""
    dim = 'dim bs in [2, 4, 8]\n  require bs % 2 == 0, "two halves"'
    found = plan(spec(STEP, dim))
    assert found.buckets == [2, 4, 8]
    assert list(found.left_out) == [1, 3, 5, 7]
    assert found.left_out[3] == "`bs % 2 == 0` does not hold at bs = 3: two halves"


def test_the_largest_size_may_be_held_by_one_that_was_not_seen() -> None:
    """The next size above it that the spec allows."""
    found = plan(spec(STEP, "dim bs in [16]\n  require bs % 16 == 0"), {3: 1, 33: 1})
    assert found.buckets == [48]


def test_a_size_that_nothing_can_hold_is_an_error() -> None:
    """With why, and how far was looked."""
    with pytest.raises(NoPlan) as error:
        plan(spec(STEP, "dim bs in [4]\n  require bs < 5"))
    assert str(error.value) == (
        "no bucket can hold bs = 8: `bs < 5` does not hold at bs = 8, nor is one up to 264"
    )


def test_a_list_is_as_long_as_its_target_has_room_for() -> None:
    """Shorter than asked where the graphs would take too many streams, or too much memory."""
    asked = {"target": "ascend910c", "limits": ("streams=36",)}
    found = plan(spec(STEP), **asked)
    assert (found.buckets, found.padded) == ([3, 8], 200 + 150 + 20)
    assert (found.asked.streams(), found.bill.streams(), found.bill.room) == (4, 2, 2)
    with pytest.raises(NoPlan) as error:
        plan(spec(STEP), target="ascend910c", limits=("streams=34",))
    assert str(error.value) == (
        "dropping buckets cannot help: bs = 8 alone takes 1 stream, where graphs have 0; "
        "`plait explain --budget` has the bill"
    )


def test_sizes_that_a_rule_refuses_are_left_out() -> None:
    """Here pairs of rows are written, so that of an odd size one is read that was not."""
    lines = """\
  buffer x : i64[bs] carried
  buffer y : i64[bs]
  phase make on main { writes y[0 .. bs // 2 * 2 - 1] }
  phase step on main { reads y  updates x }"""
    found = plan(spec(lines, "dim bs in [4, 8]"), {3: 500, 5: 50, 8: 1})
    assert found.buckets == [4, 8]
    assert list(found.left_out) == [3]
    with pytest.raises(SpecError) as error:
        plan(spec(lines, "dim bs in [5]"))
    assert [one.code for one in error.value.diagnostics] == ["PL301"]


@pytest.mark.parametrize(
    ("dim", "after", "asked", "statement"),
    [
        ("dim bs in [1, 8] # all", "", {}, "dim bs in [1, 8]"),
        ("param b = [2, 8]\n  dim bs in b", "", {}, "param b = [3, 8]"),
        (
            "param b = [2, 8]\n  dim bs in b",
            "variant v of p { set b = [1, 2, 8] }",
            {"variant": "v"},
            "b = [1, 3, 8]",
        ),
        (
            "param b = [2, 8]\n  dim bs in b",
            "",
            {"settings": {"b": [4, 5, 8]}},
            '--set "b=[1, 3, 8]"',
        ),
    ],
)
def test_a_list_is_changed_where_it_is_said(dim, after, asked, statement) -> None:
    """In the dim, in the param it names, in the variant that sets it, or in `--set`."""
    text = spec(STEP, dim, after)
    found = plan(text, **asked)
    said = statement.replace("dim bs in [1, 8]", "dim bs in [3, 8]")
    assert found.statement.removeprefix("set ") == said
    assert (found.source.text == text) == ("settings" in asked)
    if "settings" not in asked:
        assert said in found.source.text


@settings(max_examples=20)
@given(st.sets(st.integers(1, 40), min_size=1, max_size=6))
def test_a_bill_of_sizes_is_that_of_a_spec_with_them(chosen: set[int]) -> None:
    """Buckets priced one by one take what they take together, shared graphs once."""
    text = (EXAMPLES / "deepseek_v4.spec").read_text(encoding="utf-8")
    source, asked = Source("v4.spec", text), Asked(target="ascend910c")
    library = load_library(source)
    (pipeline,) = library.file.pipelines
    (dim,) = [node for node in pipeline.body if isinstance(node, syntax.Dim)]
    trial = Trial(library, pipeline, dim, asked, load_target(asked.target))
    apart = trial.bill(sorted(chosen))
    other = Source("v4.spec", text.replace("[16, 21, 22, 32]", str(sorted(chosen))))
    together = bill_asked(other, asked)
    assert apart.rows == together.rows
    assert (apart.streams(), apart.memory) == (together.streams(), together.memory)


def test_a_dim_is_named_where_there_are_several() -> None:
    """And must be there."""
    two = spec(STEP, "dim bs in [1, 2]\n  dim n in [8]")
    for dim, message in [
        (None, "there are 2 dims: choose one, --dim bs or --dim n"),
        ("b", "--dim b: there is no such dim; did you mean `bs`?"),
    ]:
        with pytest.raises(NoPlan) as error:
            plan(two, dim=dim)
        assert str(error.value) == message
    with pytest.raises(NoPlan) as error:
        plan(spec("  buffer x : i64[4] carried\n  phase step on main { updates x }", ""))
    assert str(error.value) == "the pipeline p has no `dim`, so it has no buckets"
