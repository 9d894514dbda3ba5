"""Which name means what: nothing is left unknown, and a rename changes a name and nothing else."""

from __future__ import annotations

import dataclasses
import json
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from drawing.rounds import round_texts
from drawing.texts import WHOLE_LANGUAGE, texts
from plait.compiler.compile import Asked, compile_source, read_source
from plait.dsl.diagnostic import Fix, SpecError
from plait.dsl.edits import edited
from plait.dsl.library import Library, load_library
from plait.dsl.names import names_in
from plait.dsl.parser import readable
from plait.dsl.renaming import refusal, renamed
from plait.dsl.span import Source
from plait.dsl.symbols import Names, Symbol

MODULES = """\
spec 1
module layer(stream main, stream side, buffer x, n, deep = 1) {
  stream other = side
  buffer y : f32[n]
  phase attention on main { reads x[_] as hidden  writes y  rows n * deep }
  fork other from attention
  phase beside on other { reads y  writes x }
  join other into main
}

module stack(stream main, stream side, buffer x, n) {
  for l in 1 .. 2 { call layer() as layers[l] }
  call layer(n = n, deep = 1)
  join layers[1].beside into side
  phase last on main { reads layers[2].y, layer.y as other  updates x }
}

pipeline p {
  param kind = f32
  dim n in [2, 4]
  stream main
  stream side
  buffer x : kind[n] carried
  when kind == f32 { phase begin on main { updates x } } else { phase begin on main { writes x } }
  call stack()
  join stack.layers[2].beside into main
  join begin into side
  capture g on main rows n { phase end on main { updates x } }
  join g.loaded into side
}

variant two of p { set kind = f64 }
"""


def index(text: str) -> Names:
    return names_in(load_library(Source("test.spec", text)))


def symbol(names: Names, kind: str, name: str) -> Symbol:
    (found,) = [one for one in names.symbols if (one.kind, one.name) == (kind, name)]
    return found


def places(symbol: Symbol) -> list[str]:
    """`line:column` of every occurrence, with `*` where it is declared and `+` where it is implied."""
    return [
        f"{one.span.line}:{one.span.column}" + "*" * one.declares + "+" * one.implied
        for one in symbol.occurrences
    ]


def plain(source: Source, **asked) -> object:
    """A schedule without what an edit of the text moves: places and digests; or what is wrong."""
    try:
        schedule = compile_source(source, Asked(**asked))
    except SpecError as error:
        return [(d.code, d.message) for d in error.diagnostics]

    def stripped(value: object) -> object:
        if isinstance(value, dict):
            moved = ("place", "sources", "digests", "sha256")
            return {key: stripped(one) for key, one in value.items() if key not in moved}
        return [stripped(one) for one in value] if isinstance(value, list | tuple) else value

    return stripped(dataclasses.asdict(schedule))


def replaced(value: object, old: str, new: str) -> object:
    """The same with one word in place of another, in keys and texts alike."""
    text = json.dumps(value, default=str)
    return json.loads(re.sub(rf"(?<![A-Za-z0-9]){old}(?![A-Za-z0-9])", new, text))


def test_every_place_of_a_name_is_known() -> None:
    """Declarations, uses, paths through calls, and calls that take what has the formal's name."""
    names = index(MODULES)
    assert not names.unknown
    assert places(symbol(names, "phase", "beside")) == ["7:9*", "14:18", "26:24"]
    assert places(symbol(names, "module", "stack")) == ["11:8*", "25:8", "26:8"]
    assert places(symbol(names, "module", "layer")) == ["2:8*", "12:26", "13:8", "15:43"]
    assert places(symbol(names, "call", "layers")) == ["12:37*", "14:8", "15:30", "26:14"]
    assert places(symbol(names, "phase", "begin")) == ["24:28*", "24:71*", "27:8"]
    assert places(symbol(names, "param", "kind")) == ["19:9*", "23:14", "24:8", "32:24"]
    assert places(symbol(names, "loop", "l")) == ["12:7*", "12:44"]
    assert places(symbol(names, "argument", "hidden")) == ["5:43*"]
    (ours,) = [
        one
        for one in names.symbols
        if one.kind == "stream" and one.name == "side" and one.owner and one.owner.name.text == "p"
    ]
    assert places(ours) == ["22:10*", "25:14+", "27:19", "29:22"]


def test_a_rename_writes_out_what_a_call_took_by_name() -> None:
    """The formal keeps its name when what is given to it gets another, and the other way round."""
    names = index(MODULES)
    (ours,) = [s for s in names.symbols if s.name == "n" and s.kind == "dim"]
    text = rename(MODULES, names, ours, "rows_n")
    assert "call stack(n = rows_n)" in text and "x : kind[rows_n]" in text
    (formal,) = [
        s for s in names.symbols if s.name == "side" and s.owner and s.owner.name.text == "layer"
    ]
    text = rename(MODULES, names, formal, "aside")
    assert "module layer(stream main, stream aside," in text
    assert "call layer(aside = side) as" in text and "call layer(aside = side, n = n, deep" in text


def rename(text: str, names: Names, symbol: Symbol, new: str) -> str:
    source = symbol.occurrences[0].span.source
    assert source.text == text
    edits = renamed(symbol, new)
    changed, made = edited(source, [Fix("rename", tuple(edits))])
    assert made
    return changed.text


def test_names_that_cannot_be_are_refused() -> None:
    """Each with its reason."""
    names = index(MODULES)
    phase = symbol(names, "phase", "beside")
    assert refusal(names, phase, "fine") == refusal(names, phase, "beside") == ""
    assert refusal(names, phase, "phase") == "`phase` is a reserved word, so it cannot be a name"
    assert refusal(names, phase, "_") == "`_` is a reserved word, so it cannot be a name"
    assert (
        refusal(names, phase, "1x") == "'1x' is not a name: letters, digits and `_`, no digit first"
    )
    assert (
        refusal(names, phase, "x\n")
        == "'x\\n' is not a name: letters, digits and `_`, no digit first"
    )
    assert refusal(names, phase, "") == "'' is not a name: letters, digits and `_`, no digit first"
    assert refusal(names, phase, "a" * 101) == "a name has at most 100 characters, and this 101"
    assert refusal(names, phase, "host") == "`host` is built in"
    assert refusal(names, phase, "main") == "`main` already names something else here"
    assert refusal(names, phase, "attention") == "`attention` already names something else here"
    assert refusal(names, phase, "y") == ""  # a buffer is a name of another sort
    kind = symbol(names, "param", "kind")
    assert refusal(names, kind, "bf16") == "`bf16` is a type of buffer"
    (x,) = [s for s in names.symbols if s.name == "x" and s.owner and s.owner.name.text == "layer"]
    assert refusal(names, x, "y") == "`y` already names something else here"


def test_an_argument_and_a_buffer_of_one_phase_cannot_share_a_name() -> None:
    """A buffer is the argument of its name, where no other is given: `last` has `y` and `other`."""
    names = index(MODULES)
    said = "already names something else here"
    assert refusal(names, symbol(names, "argument", "other"), "y") == f"`y` {said}"
    assert refusal(names, symbol(names, "buffer", "y"), "other") == f"`other` {said}"
    assert refusal(names, symbol(names, "buffer", "y"), "fine") == ""


SPECS = [
    "examples/eagle.spec",
    "examples/eagle_serial.spec",
    "tests/specs/canonical_eagle.spec",
]


@pytest.mark.parametrize("path", [*SPECS, "MODULES"])
def test_renaming_any_symbol_changes_its_name_in_the_schedule_and_nothing_else(
    path: str, root: Path
) -> None:
    """Every symbol in turn, at the default settings; variants and pipelines by what picks them."""
    text = MODULES if path == "MODULES" else (root / path).read_text(encoding="utf-8")
    source = Source("test.spec", text)
    names = index(text)
    before = plain(source)
    assert isinstance(before, dict)
    assert not names.unknown
    for one in names.symbols:
        assert one.declarations
        changed = Source("test.spec", rename(text, names, one, "zz9"))
        assert replaced(plain(changed), "zz9", one.name) == replaced(before, "zz9", "zz9"), one.name
        again = index(changed.text)
        assert not again.unknown and len(again.symbols) == len(names.symbols)


@given(round_texts(), st.data())
@settings(max_examples=100)
def test_renaming_any_symbol_of_a_random_round_changes_nothing_else(text: str, data) -> None:
    """Racy rounds too: what is wrong is wrong in the same words."""
    names = index(text)
    assert not names.unknown
    one = data.draw(st.sampled_from(names.symbols))
    before, changed = plain(Source("test.spec", text)), rename(text, names, one, "zz9")
    after = plain(Source("test.spec", changed))
    assert replaced(after, "zz9", one.name) == replaced(before, "zz9", "zz9")


def test_the_whole_language_is_covered() -> None:
    """Of a text with every construct, all is known but what it takes from files that are not there."""
    file = readable(Source("test.spec", WHOLE_LANGUAGE))
    assert file is not None
    modules = {module.name.text: module for module in file.modules}
    names = names_in(Library(file, modules))
    assert [name.text for name in names.unknown] == ["merge", "n", "n"]
    assert all(one.declarations for one in names.symbols)
    assert all(
        one.span.text == names.of(one).name
        for one in names.occurrences
        if not one.implied and not one.before
    )


@given(texts())
def test_whatever_can_be_read_has_names(text: str) -> None:
    """No text that is half right makes the index fail."""
    file = readable(Source("test.spec", text))
    if file is not None:
        names_in(Library(file, {module.name.text: module for module in file.modules}))


def test_names_reach_into_used_files(tmp_path: Path) -> None:
    """A module of another file, its formals and its phases, and a file's own name in its path."""
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "half.spec").write_text(
        "spec 1\nmodule step(stream s, buffer x) { phase one on s { updates x } }\n"
    )
    path = tmp_path / "whole.spec"
    path.write_text(
        'spec 1\nuse "parts/half.spec"\npipeline p {\n  stream s\n  buffer b : i64[4] carried\n'
        "  call half.step(x = b) as a\n  join a.one into s\n}\n"
    )
    names = names_in(load_library(read_source(path)))
    assert not names.unknown
    one = symbol(names, "phase", "one")
    assert [str(o.span) for o in one.occurrences] == ["whole.spec:7:10", "parts/half.spec:2:41"]
    file = symbol(names, "file", "half")
    assert [o.edit("h").text for o in file.occurrences] == ['"parts/half.spec" as h', "h"]
