"""`plait check --fix`: what it writes into a file, what it leaves alone, and what it says."""

from __future__ import annotations

import os
import stat
import subprocess
from itertools import combinations
from pathlib import Path

import pytest

from plait.cli import main
from plait.commands.fixing import fixed
from plait.compiler.compile import Asked
from plait.compiler.fix import mended
from plait.dsl.diagnostic import Edit, Fix
from plait.dsl.edits import edited
from plait.dsl.span import Source, Span
from plait.exit import Refused

EDGES = range(6)
"""The fork and join lines of examples/eagle.spec."""


def without(text: str, edges: tuple[int, ...]) -> str:
    lines = text.splitlines(keepends=True)
    places = [n for n, line in enumerate(lines) if line.strip().startswith(("fork ", "join "))]
    assert len(places) == len(EDGES)
    gone = {places[edge] for edge in edges}
    return "".join(line for n, line in enumerate(lines) if n not in gone)


def run(capsys, *arguments: str) -> tuple[int, str, str]:
    code = main(arguments)
    out, err = capsys.readouterr()
    return code, out, err


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("edge", EDGES)
def test_a_deleted_edge_is_written_back(edge: int, here, eagle, capsys) -> None:
    """Each of the six: the file is mended, `check` passes it, and every other line is as it was."""
    path = here / "round.spec"
    path.write_text(without(eagle.text, (edge,)))
    code, out, err = run(capsys, "check", "--fix", "round.spec")
    assert (code, err) == (0, "fixed 1 finding in round.spec\n")
    assert out == "round.spec: sound (default, serial, deep)\n"
    assert run(capsys, "check", "round.spec")[0] == 0
    kept = without(eagle.text, (edge,)).splitlines()
    lines = path.read_text().splitlines()
    (new,) = [line for line in lines if line not in kept or lines.count(line) > kept.count(line)]
    assert new.startswith(("  fork ", "  join "))
    assert [p.name for p in here.iterdir()] == ["round.spec"]


def test_edges_that_are_missing_together_come_back(eagle, findings) -> None:
    """Every pair, and all six: sound in all variants, without a note, and no edge too many."""
    for edges in (*combinations(EDGES, 2), tuple(EDGES)):
        found = mended(Source("round.spec", without(eagle.text, edges)), Asked())
        assert findings(found.source) == []
        assert found.count == len(edges)


def test_form_and_mode_of_the_file_stay(here, eagle, capsys) -> None:
    """Byte order mark, line ends, mode, and a link to the file elsewhere."""
    (here / "elsewhere").mkdir()
    path = here / "elsewhere" / "real.spec"
    whole = without(eagle.text, (4,)).replace("\n", "\r\n").encode("utf-8-sig")
    path.write_bytes(whole)
    path.chmod(0o640)
    (here / "round.spec").symlink_to("elsewhere/real.spec")
    assert run(capsys, "check", "--fix", "round.spec")[0] == 0
    data = path.read_bytes()
    line = b"  fork copy from accept\r\n"
    assert data.count(line) == 1 and data.replace(line, b"") == whole
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert (here / "round.spec").is_symlink()
    assert os.listdir(here / "elsewhere") == ["real.spec"]


def test_a_sound_file_is_not_touched(here, eagle, capsys) -> None:
    """Nothing to fix, nothing written, nothing said."""
    path = here / "round.spec"
    path.write_text(eagle.text)
    before = path.stat()
    code, _, err = run(capsys, "check", "--fix", "round.spec")
    after = path.stat()
    assert (code, err) == (0, "")
    assert (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)


def test_what_is_left_is_reported(here, eagle, capsys) -> None:
    """What no fix mends is an error still, with its own exit code, and a note changes neither."""
    text = without(eagle.text, (4,)).replace("flag  no_extend_graph", "flag  no_graph")
    (here / "names.spec").write_text(text)
    code, out, err = run(capsys, "check", "--fix", "names.spec")
    assert code == 2 and "PL101" in out and err == ""
    text = without(eagle.text, (4,)).replace(
        "  phase commit", "  join publish into host\n  phase commit"
    )
    (here / "note.spec").write_text(text)
    code, out, err = run(capsys, "check", "--fix", "note.spec")
    assert (code, err) == (0, "fixed 1 finding in note.spec\n")
    assert "note[PL901]" in out and out.endswith("note.spec: sound (default, serial, deep)\n")


def test_a_diff_writes_nothing(here, eagle, capsys) -> None:
    """`--diff` gives what `patch` takes, exit code 1, and leaves the file to the reader."""
    path = here / "round.spec"
    broken = without(eagle.text, (0, 4)).removesuffix("\n")
    path.write_text(broken)
    code, out, err = run(capsys, "check", "--fix", "--diff", "round.spec")
    assert (code, err) == (1, "would fix 2 findings in round.spec\n")
    assert path.read_text() == broken
    assert out.startswith("--- round.spec\n+++ round.spec\n@@ ")
    assert [line for line in out.splitlines() if line[0] in "+-"][2:] == [
        "+  fork plan from build_tree",
        "+  fork copy from accept",
    ]
    assert run(capsys, "check", "--fix", "round.spec")[0] == 0
    assert run(capsys, "check", "--fix", "--diff", "round.spec") == (0, "", "")


def test_the_diff_is_one_that_patch_takes(here, capsys) -> None:
    """A last line without an end, and line ends of either sort."""
    text = "spec 1\r\npipeline p {\r\n  stream a\n  stream b\n  buffer x : i64[1] carried\n"
    text += "  phase p on a { updates x }\n  phase q on b { reads x } }"
    path = here / "p.spec"
    path.write_bytes(text.encode())
    code, out, _ = run(capsys, "check", "--fix", "--diff", "p.spec")
    assert code == 1 and "\\ No newline at end of file\n" in out
    subprocess.run(["git", "apply", "-p0", "--unidiff-zero", "-"], input=out.encode(), check=True)
    patched = path.read_bytes()
    path.write_bytes(text.encode())
    assert run(capsys, "check", "--fix", "p.spec")[0] == 0
    assert path.read_bytes() == patched


ONE_VARIANT = """\
spec 1
module maker(stream main, buffer x, extra) {
  when extra { phase make on main { updates x } }
}
pipeline p {
  param extra = false
  stream main
  stream side
  buffer x : i64[4] carried
  buffer y : i64[4]
  buffer seen : i64[4]
  call maker() as making
  phase first on main { writes y }
  phase look on side { reads x  writes seen }
  phase last on side { reads y  writes seen }
  join side into main
}
variant more of p { set extra = true }
"""


def test_a_fix_that_breaks_another_variant_is_left_out(findings) -> None:
    """The edge would name a phase that only `more` has: it is undone, and the finding stays."""
    found = mended(Source("p.spec", ONE_VARIANT), Asked())
    assert found.count == 1 and "fork side from first" in found.source.text
    assert {d.code for d in findings(found.source)} == {"PL201"}
    assert "make" in findings(found.source)[0].message


def test_an_edge_from_what_one_variant_has_stands_under_its_condition(findings) -> None:
    """Where the condition can be said at the edge, no other variant is broken."""
    text = ONE_VARIANT.replace(
        "call maker() as making", "when extra { phase make on main { updates x } }"
    )
    found = mended(Source("p.spec", text), Asked())
    assert findings(found.source, small=True) == []
    assert "  when extra { fork side from make }\n  phase look" in found.source.text


LOOP = """\
spec 1
module layer(stream main, stream side, buffer x, buffer y, buffer seen, l) {
  phase make on main { updates x  writes y[l] }
  phase look on side { reads y[l]  writes seen }
}
pipeline p {
  stream main
  stream side
  buffer x : i64[4] carried
  buffer y : i64[4]
  buffer z : i64[5]
  buffer seen : i64[4]
  for l in 0 .. 3 { call layer() as layers[l] }
  for l in 0 .. 3 {
    phase even[l] on main { writes z[l] }
    when l > 0 { phase odd[l] on side { reads z[l - 1]  writes seen } }
  }
  phase all on main { writes z }
}
"""


def test_what_a_loop_or_a_module_repeats_is_mended_once(findings) -> None:
    """In the body that both ends stand in, by the distance of their indices, for the turns that need it."""
    found = mended(Source("p.spec", LOOP), Asked())
    assert findings(found.source) == []
    new = [line.strip() for line in found.source.text.splitlines() if line not in LOOP.splitlines()]
    assert new == [
        "fork side from make",
        "when l > 0 { fork side from even[l - 1]  phase odd[l] on side { reads z[l - 1]  writes seen } }",
        "join odd[3] into main",
    ]


def test_edits_never_meet() -> None:
    """Of two fixes at one place the second waits; a fix is made whole or not at all."""
    source = Source("a.spec", "one two three\n")

    def fix(*edits: tuple[int, int, str]) -> Fix:
        return Fix("t", tuple(Edit(Span(source, a, b), text) for a, b, text in edits))

    first, same, other = fix((4, 4, "x ")), fix((4, 7, "y")), fix((0, 3, "1"), (8, 13, "3"))
    half = fix((0, 0, "no "), (13, 13, " no"))
    other_text = Fix("t", (Edit(Span(Source("b", "bb"), 0, 1), "no"),))
    found, made = edited(source, [first, same, other, half, other_text])
    assert found.text == "1 x two 3\n"
    assert made == [first, other]


def test_what_cannot_be_fixed_is_refused(here, eagle, capsys) -> None:
    """A file that is not there or was changed meanwhile; `--diff` alone, or torn by a format."""
    broken = Source("round.spec", without(eagle.text, (4,)))
    with pytest.raises(Refused, match="not for one that comes with Plait"):
        fixed("examples/round.spec", broken, Asked(), only_show=False, waste=False)
    (here / "round.spec").write_text(eagle.text)
    with pytest.raises(Refused, match="was changed while it was checked"):
        fixed("round.spec", broken, Asked(), only_show=False, waste=False)
    assert (here / "round.spec").read_text() == eagle.text
    for arguments, message in (
        (("--diff", "round.spec"), "--diff shows what --fix would write: give both"),
        (("--fix", "--diff", "--json", "round.spec"), "--diff writes a diff to stdout"),
    ):
        code, out, err = run(capsys, "check", *arguments)
        assert (code, out) == (2, "") and message in err
