"""Commands in pages: what of a page is one, when its lines agree, and how they are brought up to date."""

from __future__ import annotations

from pages.console import agrees, brought_up_to_date, commands, printed, with_shown

PAGE = """\
# Page

## R1: first

    $ plait one
    a

      b

Text.

    $ plait two
    $ plait three
    c
"""


def test_a_block_is_a_command_and_the_lines_below_it() -> None:
    """Up to a line that is not indented or to another command; blank lines inside stay."""
    found = [(one.section, one.line, one.command, one.lines) for one in commands(PAGE)]
    assert found == [
        ("R1: first", 4, "plait one", ("a", "", "  b")),
        ("R1: first", 11, "plait two", ()),
        ("R1: first", 12, "plait three", ("c",)),
    ]


def test_three_dots_stand_for_any_lines() -> None:
    """For none too, and as a word of a line for anything; all else has to be there, in its order."""
    assert agrees(("a", "...", "c"), ["a", "b", "b", "c"])
    assert agrees(("a", "...", "c"), ["a", "c"])
    assert agrees(("...", "b", "...", "b"), ["b", "a", "b"])
    assert not agrees(("a", "...", "c"), ["a", "b"])
    assert not agrees(("...", "b", "...", "b"), ["a", "b"])
    assert agrees(("a ... c",), ["a 9 c"]) and not agrees(("a ... c",), ["a 9 d"])
    assert agrees(("... b ... c",), ["a b 1 b c"]) and not agrees(("a ... a",), ["a"])
    assert not agrees(("a....c",), ["a 9 c"])
    many = " , ".join(["..."] * 100)
    assert agrees((many,), [many]) and not agrees((f"{many} !",), [many])
    assert not agrees(("a",), ["a", "b"]) and not agrees(("a", "b"), ["a"])


def test_a_page_is_brought_up_to_date_between_its_dots() -> None:
    """Each piece is moved to where the output is most like it; what three dots stand for stays left out."""
    lines = ["round at 9", "first", "wait 3 us", "second", "done 9"]
    shown = ("round at 8", "...", "wait 2 us", "...", "done ...")
    fresh = brought_up_to_date(shown, lines)
    assert fresh == ("round at 9", "...", "wait 3 us", "...", "done ...")
    assert agrees(fresh, lines)
    assert brought_up_to_date(("old",), lines) == tuple(lines)
    first = commands(PAGE)[0]
    written = with_shown(PAGE, first, fresh)
    assert commands(written)[0].lines == fresh
    assert [one.lines for one in commands(written)[1:]] == [(), ("c",)]


def test_a_command_leaves_its_lines_and_its_exit_code(tmp_path) -> None:
    """Of `plait` what it says on both streams; of a parser that refuses, and of the shell, the same."""
    assert printed("plait check none.spec", tmp_path)[-1] == "[2]"
    assert printed("plait check --nothing", tmp_path)[-1] == "[2]"
    assert printed("echo a; exit 3", tmp_path) == ["a", "[3]"]
