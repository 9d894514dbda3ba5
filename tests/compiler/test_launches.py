"""Launches and their awaits: on every route, in captures and calls, over rounds."""

from __future__ import annotations

import pytest

ROUND = """\
spec 1
pipeline p {{
  dim bs in [1, 2]
  guard quick
  stream main
  stream side
  buffer x : i64[4]{attributes}
  buffer y : i64[4]
{lines}
}}
"""


def text(*lines: str, attributes: str = "") -> str:
    return ROUND.format(lines="\n".join(f"  {line}" for line in lines), attributes=attributes)


def test_a_launch_is_awaited_on_every_route_that_has_it(findings) -> None:
    """The first route without the await is named, where another has one."""
    (found,) = findings(
        text("launch send on main { writes x }", "when quick { await send on main }")
    )
    assert (found.code, found.message) == (
        "PL403",
        "this launch is never awaited at bs = 1, quick = false",
    )
    assert found.help == "write `await NAME on STREAM` on every route that launches it"
    (never,) = findings(text("launch send on main { writes x }"))
    assert never.message == "this launch is never awaited"
    either = "when quick { await send on main } else { await send on side }"
    assert findings(text("launch send on main { writes x }", either)) == []


def test_a_use_before_the_await_is_one_finding(findings) -> None:
    """The race that follows from it stands under it, and is mended with it."""
    (found,) = findings(
        text(
            "launch send on main { writes x }",
            "phase look on main { reads x  writes y }",
            "await send on main",
        )
    )
    assert found.code == "PL404"
    assert [one.code for one in found.because] == ["PL201"]
    assert found.fix.title == "move `await send on main` to before line 10"


def test_the_await_is_moved_by_a_fix(findings) -> None:
    """`check --fix` writes it above the use, and above the brace of a capture around that."""
    from plait.compiler.compile import Asked
    from plait.compiler.fix import mended
    from plait.dsl.span import Source

    for use in (
        ["phase look on main { reads x  writes y }"],
        ["capture g on main rows 4 {", "  phase look on main { reads x  writes y }", "}"],
    ):
        bad = text("launch send on main { writes x }", *use, "await send on main")
        right = text("launch send on main { writes x }", "await send on main", *use)
        assert mended(Source("test.spec", bad), Asked()).source.text == right


def test_within_a_capture_the_await_stays_in_it(findings) -> None:
    """The graph holds both halves of the launch."""
    (found,) = findings(
        text(
            "capture g on main rows 4 {",
            "  launch send on main { writes x }",
            "  phase look on main { reads x  writes y }",
            "  await send on main",
            "}",
        )
    )
    assert (found.code, found.fix.title) == ("PL404", "move `await send on main` to before line 11")


def test_no_edge_ends_a_launch_before_its_await(findings) -> None:
    """A hook has not run yet, so there is no end to wait for."""
    found = findings(
        text(
            "launch send on main { writes x }",
            "fork side from send",
            "phase look on side { reads x  writes y }",
            "join side into main",
            "await send on main",
        )
    )
    assert [one.message for one in found if one.code == "PL404"] == [
        "`fork side from send` waits for the end of `send`, which is awaited only below",
        "`look` reads `x` of `send`, which is awaited only below",
    ]


@pytest.mark.parametrize(
    ("attributes", "use"),
    [
        (" copies 2", "phase look on main { reads prev x  writes y }"),
        (" carried", "phase look on main { reads x[1]  writes y }"),
    ],
)
def test_what_the_launch_does_not_write_may_be_used(findings, attributes: str, use: str) -> None:
    """The value of the round before in another copy, and another part of the buffer."""
    lines = ("launch send on main { writes x[0] }", use, "await send on main")
    if "copies" in attributes:
        lines = ("launch send on main { writes x }", *lines[1:])
    assert findings(text(*lines, attributes=attributes)) == []


def test_a_launch_in_a_call_is_used_early_by_its_caller(findings) -> None:
    """The buffer is the caller's, whatever the module calls it, and the text is not moved for both."""
    (found,) = findings("""\
spec 1
module m(stream main, buffer out, buffer seen) {
  launch send on main { writes out }
  phase look on main { reads out  writes seen }
  await send on main
}
pipeline p {
  stream main
  buffer x : i64[4]
  buffer y : i64[4]
  call m(out = x, seen = y)
}
""")
    assert found.code == "PL404"
    assert found.message == "`m.look` reads `x` of `m.send`, which is awaited only below"
    assert found.fix is None and found.help == "await it above"


RACING = """\
spec 1
pipeline p {
  group ep
  stream main
  stream side
  buffer x : i64[4] carried
  buffer y : i64[4]
  buffer r : opaque
  fork side from main
  phase make on main { updates x }
  launch send on side { reads x  writes r  collective low_latency over ep }
  phase more on main { updates x }
  await send on side
  phase look on side { reads r  writes y }
  join side into main
}
"""


def test_a_race_with_a_launch_names_the_stream_it_is_launched_on(findings) -> None:
    """What waits for it stands below its await: no edge may name it before."""
    first, second = findings(RACING)
    assert first.message == (
        "`send` launched on side may read `x` before `make` on main has written it"
    )
    assert first.fix.title == "before line 11, write: fork side from make"
    assert second.message == (
        "`more` on main may overwrite `x` while `send` launched on side still reads it"
    )
    assert second.fix is None
    assert second.help == "issue `more` below the await of `send`, or await it above"
    assert second.witness[1] == "round r: `send` launched on side may still be in flight"


def test_a_race_with_a_launch_is_mended_as_it_says(findings) -> None:
    """A wait above it, and its await above what it raced with."""
    mended = RACING.replace("  fork side from main\n", "")
    mended = mended.replace("  launch", "  fork side from make\n  launch")
    mended = mended.replace("  await send on side\n", "")
    mended = mended.replace(
        "  phase more", "  await send on side\n  join side into main\n  phase more"
    )
    assert [one.code for one in findings(mended) if one.severity == "error"] == []
