"""The one layout: what it looks like, that nothing is lost, and that it means what was written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings

from drawing.specs import spec_texts, written_anyhow
from drawing.texts import WHOLE_LANGUAGE
from plait.compiler.compile import Asked, compile_source
from plait.compiler.elaboration.elaborate import elaborate
from plait.dsl import syntax
from plait.dsl.diagnostic import Report, SpecError
from plait.dsl.format import formatted
from plait.dsl.library import load_library
from plait.dsl.parser import parse
from plait.dsl.pieces import pieces
from plait.dsl.printer import printed
from plait.dsl.settings import settings_for
from plait.dsl.span import Source
from plait.runtime.schedule_json import to_json

ROOT = Path(__file__).parents[2]
SPECS = sorted([*ROOT.glob("examples/*.spec"), *ROOT.glob("tests/specs/*.spec")])
TEMPLATES = sorted(ROOT.glob("src/plait/templates/*.spec"))

UGLY = """\
# first
spec 1


pipeline p{ # opened
param n=2 # two
param longer=[1,2 ,3 ] # three
flag f=env("F",true)
stream main stream side :copy
   # of x
buffer x:i64[n*-1+3,4]  carried pad -1
buffer other  :opaque

phase step[ n-1 ] on main host_sync {
  when n>1 {rows 4}
  # what it makes
  writes other   # all of it
  reads x[_,0 .. n-(1+1)]as a
  # nothing more
}
when n>1{fork side from step[1]} # allow PL901: shown
when n > 1 {
  join prev 2 step[1] into side } # done
  # or else
else when f { phase b on side {reads x}
}
phase on_and_on on main {
  writes other reads x[_, 0] as the_first_column, prev x as what_it_was_before_this_round
}
}
variant v of p{set n=1 set f=false}
variant longest of p { set n = 3 }
"""

LAID_OUT = """\
# first
spec 1

pipeline p {  # opened
  param n      = 2          # two
  param longer = [1, 2, 3]  # three
  flag  f      = env("F", true)
  stream main
  stream side : copy
  # of x
  buffer x     : i64[n * -1 + 3, 4] carried pad -1
  buffer other : opaque

  phase step[n - 1] on main host_sync {
    reads x[_, 0 .. n - (1 + 1)] as a
    # what it makes
    writes other  # all of it
    when n > 1 { rows 4 }
    # nothing more
  }
  when n > 1 { fork side from step[1] }  # allow PL901: shown
  when n > 1 {
    join prev 2 step[1] into side
  } else when f {
    # done
    # or else
    phase b on side { reads x }
  }
  phase on_and_on on main {
    reads x[_, 0] as the_first_column, prev x as what_it_was_before_this_round
    writes other
  }
}
variant v       of p { set n = 1  set f = false }
variant longest of p { set n = 3 }
"""


def laid_out(text: str) -> str:
    return formatted(Source("test.spec", text))


def test_the_one_layout() -> None:
    """Blanks, columns, comments, clauses, braces: each where it belongs."""
    assert laid_out(UGLY) == LAID_OUT


def test_what_is_too_long_goes_on_deeper() -> None:
    """Behind a comma or before `and`; a comment within a list stays where it is."""
    names = ", ".join(f"buffer number_{n}" for n in range(8))
    text = f"module m({names}) {{ }}\nvariant v of p {{ set x = [1, # one\n 2] }}"
    assert laid_out(text) == (
        "module m(buffer number_0, buffer number_1, buffer number_2, buffer number_3, "
        "buffer number_4, buffer number_5,\n"
        "    buffer number_6, buffer number_7) {\n}\n"
        "variant v of p {\n"
        "  set x = [1,  # one\n"
        "      2]\n"
        "}\n"
    )


def test_a_comment_stays_with_the_line_it_speaks_of() -> None:
    """Where a phase on one line becomes several, its comment is on the first."""
    reads = ", ".join(f"a_buffer_{n}" for n in range(8))
    text = f"pipeline p {{\nphase a on s {{ reads {reads} writes b }} # why\n}}"
    assert laid_out(text) == (
        f"pipeline p {{\n  phase a on s {{  # why\n    reads {reads}\n    writes b\n  }}\n}}\n"
    )


def test_clauses_keep_their_order_where_the_last_one_counts() -> None:
    """`rows` behind a `when` that says `rows` too would mean something else before it."""
    text = "pipeline p {\n  phase a on s { when c { rows 4 }  rows 8  reads x }\n}\n"
    assert laid_out(text) == text


def test_line_ends_become_those_of_unix() -> None:
    """Comments that end in CR LF too, and a text without an end has one."""
    assert laid_out("spec 1 # one\r\n\r\n\r\n# two \r\n\tpipeline p\r\n{ }") == (
        "spec 1  # one\n\n# two\npipeline p { }\n"
    )


@pytest.mark.parametrize("text", ["", "\n\n", "# alone", "spec 1"])
def test_the_least_texts(text: str) -> None:
    """What holds nothing is laid out too."""
    assert laid_out(text) == (f"{text.strip()}\n" if text.strip() else "")


@pytest.mark.parametrize("path", [*SPECS, *TEMPLATES], ids=lambda path: path.name)
def test_every_spec_of_the_tree_is_laid_out(path: Path) -> None:
    """`plait fmt` has nothing to do here."""
    text = path.read_text(encoding="utf-8")
    assert laid_out(text) == text


@pytest.mark.parametrize("path", SPECS, ids=lambda path: path.name)
def test_syntax_is_printed_as_what_it_says(path: Path) -> None:
    """What is printed parses to the same syntax."""
    file = parse(Source(path.name, path.read_text(encoding="utf-8")))
    assert parse(Source("printed", printed(file))) == file


def test_the_whole_language_is_printed() -> None:
    """Every construct, once."""
    file = parse(Source("whole", WHOLE_LANGUAGE))
    assert parse(Source("printed", printed(file))) == file


def schedule_of(path: Path, text: str) -> Any:
    """The schedule without what only says where things stand; or what is wrong."""
    try:
        made = compile_source(Source(path.name, text, path.parent), Asked(environment={}))
    except SpecError as error:
        return "\n".join(sorted(found.message for found in error.diagnostics))
    return _without_places(json.loads(to_json(made)))


def _without_places(value: Any) -> Any:
    if isinstance(value, dict):
        dropped = ("place", "source", "used", "digests")
        kept = {name: _without_places(one) for name, one in value.items() if name not in dropped}
        if "arguments" in kept:  # given by name, so their order says nothing
            kept["arguments"].sort()
        return kept
    if not isinstance(value, list):
        return value
    kept = [_without_places(one) for one in value]
    placed = len(kept) > 2 and isinstance(kept[-1], list)
    return kept[:-1] if placed and [type(one) for one in kept[-1]] == [int] * 3 else kept


@pytest.mark.parametrize(
    "path", [path for path in SPECS if path.stat().st_size < 5000], ids=lambda path: path.name
)
def test_a_layout_changes_no_schedule(path: Path) -> None:
    """Written badly and laid out again, a spec compiles to the schedule it had."""
    text = path.read_text(encoding="utf-8")
    bad = "\n".join(piece.text for piece in pieces(text))
    again = laid_out(bad)
    assert schedule_of(path, again) == schedule_of(path, bad)


@settings(max_examples=2000)
@given(spec_texts())
def test_any_spec_is_printed_laid_out_and_elaborated(text: str) -> None:
    """What is printed parses to the same syntax, with names and sizes that fit."""
    library = load_library(Source("drawn.spec", text))
    file = library.file
    assert parse(Source("printed", printed(file))) == file
    made = laid_out(text)
    assert laid_out(made) == made
    report = Report()
    elaborate(file.pipelines[0], library, settings_for(file, file.pipelines[0]), report)
    assert not report.diagnostics


@settings(max_examples=200)
@given(written_anyhow())
def test_nothing_is_lost(text: str) -> None:
    """Every word, sign and comment is there as it was written, and laid out twice is laid out once."""
    source = Source("drawn.spec", text)
    made = laid_out(text)
    assert laid_out(made) == made
    assert sorted(p.text for p in pieces(made)) == sorted(p.text for p in pieces(text))
    assert in_order(parse(Source("made", made))) == in_order(parse(source))


def in_order(node):
    """Syntax with the clauses of each phase in one order, as text."""
    if isinstance(node, syntax.Phase | syntax.ClauseWhen):
        return repr(type(node)), sorted(repr(in_order(clause)) for clause in node.clauses)
    if isinstance(node, syntax.Node):
        names = [name for name in node.fields() if name != "span"]
        return type(node).__name__, *(in_order(getattr(node, name)) for name in names)
    return [in_order(one) for one in node] if isinstance(node, tuple) else node
