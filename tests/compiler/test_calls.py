"""Modules and calls: what a call gives, what its phases are named, and what is said when it does not fit."""

from __future__ import annotations

from pathlib import Path

import pytest

from plait.compiler.compile import Asked, compile_source, prove_all, read_source
from plait.dsl.diagnostic import SpecError

LAYERS = """\
spec 1
module layer(stream main, stream side, buffer x, cache, width, n = width, scale = n * 2) {
  buffer h : i64[scale]
  stream aside = side if n > 4 else main
  phase first on main { reads x  writes h }
  fork aside from first
  phase second on aside { updates h }
  join aside into main
  phase last on main { reads h  writes x }
}
pipeline p {
  param width = 8
  param cache = 1
  stream main
  stream side
  buffer x : i64[8] carried
  for l in 0 .. 1 { call layer() as layers[l] }
  call layer(n = 2)
}
"""


def test_a_call_gives_what_it_names_the_default_or_the_callers_own(compiled) -> None:
    """Buffers are one set a call; a stream is another name for one; an alias depends on the call's values."""
    schedule = compiled(LAYERS)
    assert [(p.name, p.body, p.index) for p in schedule.phases[:3]] == [
        ("layers[0].first", "layers.first", 0),
        ("layers[0].second", "layers.second", 0),
        ("layers[0].last", "layers.last", 0),
    ]
    assert [b.name for b in schedule.buffers] == ["x", "layers[0].h", "layers[1].h", "layer.h"]
    assert schedule.buckets[0].shapes == ((8,), (16,), (16,), (4,))
    on = {p.name: schedule.streams[p.stream].name for p in schedule.phases}
    assert (on["layers[1].second"], on["layer.second"]) == ("side", "main")


def test_a_point_in_a_call_is_named_through_it(compiled) -> None:
    """`inst.phase` is that phase; `inst` alone is the last that the call issues."""
    text = """\
spec 1
module m(stream main, buffer x) {
  phase one on main { updates x }
  phase two on main { updates x }
}
pipeline p {
  stream main
  stream side
  buffer x : i64[4] carried
  buffer y : i64[4] carried
  call m() as inst
  fork side from POINT
  phase look on side { updates y }
  join side into main
}
"""
    for point, source in (("inst.one", "inst.one"), ("inst", "inst.two")):
        schedule = compiled(text.replace("POINT", point))
        assert [event.name for event in schedule.events] == [source, "look"]


@pytest.mark.parametrize(
    ("call", "code", "message"),
    [
        ("call layr()", "PL101", "there is no module `layr`"),
        ("call other.layer()", "PL101", "no file is used as `other`"),
        ("call layer(k = 1)", "PL118", "`layer` has no formal `k`"),
        ("call layer(n = 1, n = 2)", "PL104", "`n` is given twice"),
        ("call layer(x = 3)", "PL118", "`x` is a buffer, so its name should stand here"),
        ("call layer(x = z)", "PL101", "`z` is not a buffer"),
        (
            "call needy()",
            "PL118",
            "the call gives no value `nothing`, and there is none of that name here",
        ),
        ("call endless()", "PL603", "calls stand more than 64 deep in each other"),
        ("call layer() as main", "PL104", "`main` already names a stream"),
        ("call flagged()", "PL109", "this stands in a pipeline, not in a module"),
        ("call streams()", "PL109", "a module names streams and never makes one"),
    ],
)
def test_a_call_that_does_not_fit_is_one_error(
    call: str, code: str, message: str, findings
) -> None:
    """At its place, with what was expected."""
    modules = (
        "module needy(nothing) { }\nmodule endless() { call endless() }\n"
        'module flagged() { flag f = env("F", true) }\nmodule streams() { stream s }\n'
    )
    text = LAYERS.replace("pipeline", modules + "pipeline").replace(
        "  call layer(n = 2)", f"  {call}"
    )
    assert [(d.code, d.message) for d in findings(text)] == [(code, message)]


def test_two_calls_without_a_name_are_told_to_have_one(findings) -> None:
    """They would name their phases alike."""
    text = LAYERS.replace("  call layer(n = 2)", "  call layer()\n  call layer()")
    (found,) = findings(text)
    assert (found.code, found.help) == ("PL104", "name each call, as in `call MODULE() as NAME`")


def test_a_mistake_in_a_module_is_reported_once(findings) -> None:
    """However often it is called, and at whatever values."""
    found = findings(LAYERS.replace("updates h }", "updates missing }"))
    assert [(d.code, d.span.text) for d in found] == [("PL101", "missing")]


def test_stages_of_interleaved_calls_alternate(compiled) -> None:
    """The second call's stages come that many behind the first's; within a step the first goes first."""
    text = """\
spec 1
module m(stream main, buffer x) {
  for l in 0 .. 1 {
    phase a[l] on main { updates x }
    yield
    phase b[l] on main { updates x }
    yield
  }
}
pipeline p {
  stream main
  buffer x : i64[4] carried
  buffer z : i64[4] carried
  interleave by 1 { call m() as A  call m(x = z) as B }
}
"""
    names = [phase.name for phase in compiled(text).phases]
    assert names == [
        *("A.a[0]", "A.b[0]", "B.a[0]", "A.a[1]", "B.b[0]", "A.b[1]", "B.a[1]", "B.b[1]"),
    ]
    by_two = compiled(text.replace("by 1", "by 2"))
    assert [phase.name for phase in by_two.phases][:4] == ["A.a[0]", "A.b[0]", "A.a[1]", "B.a[0]"]
    alone = text.replace("interleave by 1 { call m() as A  call m(x = z) as B }", "call m()")
    assert [p.name for p in compiled(alone).phases] == ["m.a[0]", "m.b[0]", "m.a[1]", "m.b[1]"]


# Files


def write(folder: Path, **files: str) -> Path:
    for name, text in files.items():
        (folder / f"{name}.spec").write_text(text, encoding="utf-8")
    return folder / "main.spec"


MAIN = """\
spec 1
use "part.spec" as part
pipeline p { stream main  buffer x : i64[4] carried  call part.step() }
"""
PART = "spec 1\nmodule step(stream main, buffer x) {\n  phase one on main { updates x }\n}\n"


def test_a_used_file_is_part_of_the_schedule(tmp_path: Path) -> None:
    """Its modules can be called; places name it, and its digest decides, too."""
    source = read_source(write(tmp_path, main=MAIN, part=PART))
    schedule = compile_source(source, Asked())
    assert [used.name for used in schedule.used] == ["part.spec"]
    assert schedule.place_of(schedule.phases[0].place) == "part.spec:3"


@pytest.mark.parametrize(
    ("use", "message"),
    [
        ('"/etc/passwd"', "`/etc/passwd` leads out of the folder of the spec"),
        ('"../part.spec"', "`../part.spec` leads out of the folder of the spec"),
        ('"sub/../../part.spec"', "`sub/../../part.spec` leads out of the folder of the spec"),
        ('"link.spec"', "`link.spec` is a link out of the folder of the spec"),
        ('"missing.spec"', "`missing.spec` cannot be read: No such file or directory"),
        ('"main.spec"', "this file is being used by what it uses"),
        ("nothing", "the standard library has no `nothing`"),
    ],
)
def test_use_stays_within_the_folder(use: str, message: str, tmp_path: Path) -> None:
    """Neither a path nor a link leads out of it, and nothing uses itself."""
    folder = tmp_path / "inner"
    folder.mkdir()
    (tmp_path / "part.spec").write_text(PART)
    (folder / "link.spec").symlink_to(tmp_path / "part.spec")
    path = write(folder, main=MAIN.replace('"part.spec"', use))
    with pytest.raises(SpecError) as caught:
        prove_all(read_source(path), Asked())
    assert [(d.code, d.message) for d in caught.value.diagnostics] == [("PL115", message)]


def test_what_is_wrong_beside_a_use_of_itself_is_said_once(tmp_path: Path) -> None:
    """The file is not read a second time to find that it is being used."""
    lines = 'use "main.spec" as me\nuse "missing.spec"\n'
    path = write(tmp_path, main=f"spec 1\n{lines}pipeline p {{ stream main }}\n")
    with pytest.raises(SpecError) as caught:
        prove_all(read_source(path), Asked())
    assert [(d.code, d.span.line) for d in caught.value.diagnostics] == [("PL115", 2), ("PL115", 3)]
