"""Syntax to rounds: names, sizes and places, and one error for each mistake."""

from __future__ import annotations

import pytest


def spec(body: str, declarations: str = "") -> str:
    """A pipeline with two streams, a dim and a few buffers."""
    return f"""\
spec 1
pipeline p {{
  dim bs in [1, 4]
  stream main
  stream side
  buffer x : i64[bs, 2] carried
  buffer y : i64[bs, 2] carried
{declarations}
{body}
}}
"""


def test_loops_unroll_and_names_carry_their_index(proven) -> None:
    """`for` includes both ends; an empty one leaves nothing, its capture included."""
    text = spec(
        "  capture g on main rows bs { for i in 1 .. n { phase a[i] on main { updates x } } }",
        "  param n = 3",
    )
    names = [phase.name for phase in proven(text).round.phases]
    assert names == ["a[1]", "a[2]", "a[3]"]
    empty = spec(
        "  phase b on main { updates x }\n"
        "  capture g on main rows bs { for i in 1 .. 0 { phase a[i] on main { updates x } } }",
    )
    assert proven(empty).round.captures == ()


def test_a_condition_chooses_before_the_run(proven) -> None:
    """`when` keeps one branch; a name may stand in both."""
    text = spec(
        "  when wide { phase a on main { updates x } } else { phase a on side { updates x } }",
        "  param wide = true",
    )
    assert proven(text).round.phases[0].stream == 1
    assert proven(text, settings={"wide": False}).round.phases[0].stream == 2


def test_another_name_for_a_stream_is_that_stream(proven) -> None:
    """An alias costs no stream and no edge."""
    text = spec(
        "  phase a on main { updates x }\n  fork also from main\n  phase b on also { updates x }",
        "  stream also = main",
    )
    found = proven(text)
    assert [s.name for s in found.round.streams] == ["host", "main", "side"]
    assert found.round.edges == [] and found.waits == ()


def test_an_edge_from_outside_to_a_captured_phase_means_its_capture(proven) -> None:
    """What is inside a graph ends, for everyone else, when the graph does."""
    text = spec(
        "  capture g on main rows bs { phase a on main { updates x } phase b on main { updates y } }\n"
        "  fork side from a\n  phase c on side { reads x }\n  join side into main"
    )
    found = proven(text)
    assert found.round.edges[0].source.kind == "capture"


def test_an_eager_capture_can_be_named_too(proven) -> None:
    """With captures off, its end is its last phase and its load the last phase that takes input."""
    text = spec(
        "  capture g on main rows bs {\n"
        "    phase a on main { reads x  writes y }  phase b on main { updates y }\n  }\n"
        "  fork side from g.loaded\n  phase c on side { writes x }\n  join side into main"
    )
    captured, eager = proven(text), proven(text, capture=False)
    assert captured.round.edges[0].source.kind == "loaded"
    assert eager.round.source_name(eager.round.edges[0].source) == "a"


MISTAKES = [
    ("phase a on man { }", "PL101", "`man` is not a stream", "did you mean `main`?"),
    ("phase a on main { reads z }", "PL101", "`z` is not a buffer", "known here: x, y"),
    (
        "fork side from b  phase a on side { }",
        "PL101",
        "no stream, phase or capture `b` stands above this line",
        "known here: host, main, side",
    ),
    ("phase a on main { reads x[_, _, 0] }", "PL601", "`x` has 2 axes, and the region 3", None),
    (
        "phase a on main { reads x[_, 2] }",
        "PL601",
        "`2` is outside this axis of `x`, which has 2 entries counted from 0 at bs = 1",
        None,
    ),
    (
        "phase a on main { reads x[0 .. 1, _] }",
        "PL601",
        "`0 .. 1` is outside this axis of `x`, which has 1 entry counted from 0 at bs = 1",
        None,
    ),
    (
        "phase a on main { reads x[_, 0]  reads x[_, 1] }",
        "PL108",
        "two accesses give the phase an argument `x`",
        "name one with `as`, or say `updates` for a buffer both read and written",
    ),
    (
        "phase a on main { writes prev x }",
        "PL111",
        "`prev x` writes a value of an earlier round",
        None,
    ),
    (
        "buffer s : i64[4] scratch  phase a on main { reads s }",
        "PL113",
        "`s` is scratch, which holds nothing for a phase that reads it",
        "say `updates s`, or take `scratch` off the buffer",
    ),
    (
        "buffer s : i64[4] on pinned carried  phase a on host { reads s }",
        "PL114",
        "a host phase touches `s`, which only streams may",
        "declare the buffer `on host`",
    ),
    ("phase a on main fast { }", "PL107", "`fast` is not an attribute of a phase", None),
    ("phase a on main { rows 0 }", "PL601", "`0` is 0 rows at bs = 1", None),
    ("phase main on main { }", "PL104", "`main` already names a stream", None),
    ("phase a on main { }  phase a on main { }", "PL104", "`a` already names a phase", None),
    ("fork side from side", "PL402", "`side` waits for itself", None),
    ("join prev main into side", "PL112", "a stream has no earlier round", None),
    (
        "phase a on main { }  join a.loaded into side",
        "PL112",
        "`a` is a phase; only a capture is loaded",
        None,
    ),
    ("for bs in 0 .. 1 { }", "PL104", "`bs` already means something else here", None),
    (
        "for i in 0 .. 10000000 { }",
        "PL603",
        "the loop runs 10,000,001 times; the most is 1,000,000",
        None,
    ),
    (
        "when true { stream late }",
        "PL109",
        "declarations stand in the pipeline or module itself, not inside a block",
        None,
    ),
    ("capture g on host rows 1 { }", "PL505", "the host cannot be captured", None),
    (
        "phase a on side { updates y } capture g on main rows bs { join a into main }",
        "PL503",
        "`join a into main` crosses the brace of the capture `g`",
        None,
    ),
    (
        "capture g on main rows bs { phase a on side { } }",
        "PL504",
        "`a` is on side, which the capture does not fork",
        None,
    ),
    (
        "capture g on main rows bs { capture h on main rows 1 { } }",
        "PL505",
        "the capture `h` stands inside another",
        None,
    ),
    ('require bs > 1, "too few"', "PL110", "`bs > 1` does not hold at bs = 1: too few", None),
    ("stream main", "PL104", "`main` is declared twice", None),
    ("buffer z : i65[2]", "PL107", "`i65` is not a type of buffer", "did you mean `i64`?"),
    ("buffer z : i64", "PL107", "`z` has no shape", "write `i64[SIZE, ...]`, or `opaque`"),
    ("buffer z : i64[0]", "PL601", "an axis of `z` is 0 at bs = 1", None),
    ("buffer z : i64[2] copies", "PL107", "`copies` is not an attribute", "write `copies 2`"),
    ("buffer z : i64[2] copies 65", "PL107", "a buffer has 1 to 64 copies, not 65", None),
    ("buffer z : i64[2] on disk", "PL107", "a buffer lies on host or pinned memory", None),
    (
        "buffer z : i64[2] carrid",
        "PL107",
        "`carrid` is not an attribute of a buffer",
        "did you mean `carried`?",
    ),
    ("stream fast : gpu", "PL107", "`gpu` is not a class of stream", None),
    (
        "dim n in [4, 2]",
        "PL601",
        "the sizes of `n` are not whole numbers from 1 to 2^48 that rise",
        "write them as `[1, 2, 4, 8]`",
    ),
    ("flag f = 3", "PL102", "the value of a flag is where it comes from and its default", None),
    ("param bs = 3", "PL104", "`bs` is declared twice", None),
]


@pytest.mark.parametrize(
    ("body", "code", "message", "help"), MISTAKES, ids=[m[0] for m in MISTAKES]
)
def test_a_mistake_is_one_error(
    body: str, code: str, message: str, help: str | None, findings
) -> None:
    """Each mistake is said once, whatever the number of buckets, and nothing follows from it."""
    found = findings(spec(f"  {body}"))
    assert [(d.code, d.message) for d in found] == [(code, message)]
    if help is not None:
        assert found[0].help == help


def test_a_broken_name_is_reported_where_it_is_broken_only(findings) -> None:
    """What needs a name that is itself wrong stays silent; other mistakes are still found."""
    text = spec(
        "  phase a on late { reads z }\n  join a into main\n  phase b on main { reads nothing }",
        "  stream late if missing else main\n  buffer z : i64[missing]",
    )
    found = findings(text)
    assert [(d.code, d.span.text) for d in found] == [
        ("PL101", "missing"),
        ("PL101", "missing"),
        ("PL101", "nothing"),
    ]


def test_too_many_buckets_come_with_the_count(findings) -> None:
    """Dims multiply; the product is bounded."""
    sizes = ", ".join(map(str, range(1, 101)))
    found = findings(f"pipeline p {{ dim a in [{sizes}] dim b in [{sizes}] stream s }}")
    assert [(d.code, d.message) for d in found] == [
        ("PL602", "the round has 10,000 routes; the most is 4,096")
    ]


def test_an_unmet_requirement_is_all_that_is_said(findings) -> None:
    """What else is wrong at settings that nobody meant would only confuse."""
    text = """\
spec 1
pipeline p {
  param k = 0
  require k >= 1, "there is at least one"
  stream main
  buffer x : i64[k] carried
  phase a on main { updates x }
}
"""
    (found,) = findings(text)
    assert found.code == "PL110"
    assert found.message == "`k >= 1` does not hold: there is at least one"
