"""`plait mutate`: the edits that it makes, the plain list that judges them, what it prints."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from drawing.rounds import routes
from drawing.safe import broken, safe_round
from plait.cli import main
from plait.compiler.compile import Asked
from plait.compiler.mutate.edits import mutants
from plait.compiler.mutate.needed import unordered
from plait.compiler.mutate.score import scored
from plait.dsl.parser import parse
from plait.dsl.span import Source

SPEC = """\
spec 1
pipeline p {
  group world = 8
  group tp = 2 in world
  stream main
  stream side
  buffer x : i64[4] carried copies 2
  guard ready over world
  phase make on main { writes x }
  fork side from main
  phase look on side { reads x }
  phase note on side { reads x }
  join look into main
}
"""


def test_every_single_edit_is_made_once() -> None:
    """Each statement an order may hang on, in the order of the text."""
    assert [f"{one.line}: {one.what}" for one in mutants(parse(Source("p.spec", SPEC)))] == [
        "7: drop `carried` of `x`",
        "7: give `x` copies 1",
        "8: drop the vote on `ready`",
        "8: ask for `ready` over tp alone",
        "9: move `make` from main to side",
        "10: drop `fork side from main`",
        "10: move `fork side from main` one statement up",
        "10: move `fork side from main` one statement down",
        "10: write `fork side from make` for `fork side from main`",
        "10: write `fork side from prev 1 make` for `fork side from main`",
        "11: move `look` from side to main",
        "11: swap `look` and `note`",
        "12: move `note` from side to main",
        "13: drop `join look into main`",
        "13: move `join look into main` one statement up",
        "13: write `join prev 1 look into main` for `join look into main`",
    ]


def test_what_is_in_flight_and_what_holds_it_are_edited() -> None:
    """An await moves, a pool and an exchange hold less: refused just where that is too early or little."""
    text = """\
spec 1
pipeline p {
  group ep
  stream main
  pool ll = 2
  buffer x : f32[4] carried
  buffer a : f32[4] in ll
  buffer b : f32[4] in ll
  launch send on main { reads x  writes a  rows 4  collective low_latency over ep capacity 4 }
  await send on main
  phase other on main { reads x  writes b }
  phase add on main { reads a, b  writes x }
}
"""
    found = [scored(one, Asked(environment={})) for one in mutants(parse(Source("p.spec", text)))]
    assert [(one.what, one.code, one.missing) for one in found if one.line != 6] == [
        (
            "let the pool `ll` hold 1",
            "PL852",
            "2 values may be alive in the pool `ll`, and there is room for 1",
        ),
        (
            "let the exchange of `send` hold one row less",
            "PL851",
            "`send` exchanges 4 rows, and there is room for 3",
        ),
        ("move `await send on main` one statement up", "PL112", ""),
        ("move `await send on main` one statement down", "", ""),
        ("swap `other` and `add`", "PL301", ""),
    ]
    assert not any(one.wrong for one in found)


def test_an_edit_changes_nothing_else() -> None:
    """The text around it, comments and blanks among them, stays as it was."""
    text = SPEC.replace("  phase look", "  # seen\n  phase look")
    found = {one.what: one.source.text for one in mutants(parse(Source("p.spec", text)))}
    swapped = found["swap `look` and `note`"]
    assert swapped == text.replace("look on", "NOTE on").replace("note on", "look on").replace(
        "NOTE on", "note on"
    )
    assert found["give `x` copies 1"] == text.replace("copies 2", "copies 1")


@given(st.integers(0, 1 << 32))
@settings(max_examples=200)
def test_the_plain_list_finds_what_a_drawing_lacks(seed: int) -> None:
    """A round drawn with every needed order has them all, and less one it has not."""
    random = Random(seed)
    safe = safe_round(random)
    less = broken(safe, random)
    assert not list(unordered(routes(safe.text()))), safe.text()
    assert less is None or list(unordered(routes(less.text()))), less.text()


def test_the_plain_list_sees_a_switch_of_routes() -> None:
    """Each bucket is right when it repeats, and one after the other is not."""
    text = """\
spec 1
pipeline p {
  dim bs in [1, 2]
  stream main
  stream side
  buffer x : i64[2] carried
  phase change on main { updates x[bs - 1] }
  fork side from change
  phase look on side { reads x[2 - bs] }
  join prev look into host
}
"""
    mutant = next(mutants(parse(Source("p.spec", text)))).replace(
        what="nothing", source=Source("p.spec", text)
    )
    found = scored(mutant, Asked(environment={}))
    assert (found.verdict, found.code) == ("refused", "PL203")
    assert found.missing == "`change` may meet `look` of the round before in `x`"


@pytest.fixture
def spec(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "p.spec").write_text(SPEC, encoding="utf-8")
    return "p.spec"


def test_it_prints_what_became_of_each_edit(spec: str, capsys) -> None:
    """A line for each, then the score; 0 as long as none survives."""
    text = SPEC.replace("  guard ready over world\n", "")
    Path(spec).write_text(text.replace("join look", "join side"), encoding="utf-8")
    assert main(["mutate", spec]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[:3] == [
        "line 7: drop `carried` of `x`: passes",
        "line 7: give `x` copies 1: passes",
        "line 8: move `make` from main to side: passes",
    ]
    assert "line 9: drop `fork side from main`: refused (PL201, line 10)" in lines
    assert lines[-1] == "16 edits: 5 refused, 11 pass with every needed order, 0 survive"


def test_some_edits_are_from_all_of_the_text(spec: str, capsys) -> None:
    """`--most` bounds the work, and JSON says how many there are."""
    text = SPEC.replace("join look", "join side")
    Path(spec).write_text(text, encoding="utf-8")
    assert main(["mutate", spec, "--most", "4", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["edits"] == len(list(mutants(parse(Source("p.spec", text)))))
    assert len(found["tried"]) == 4
    assert sum(found["counts"].values()) == 4
    assert found["tried"][0] == {
        "what": "drop `carried` of `x`",
        "line": 7,
        "verdict": "passes",
        "code": "",
        "at": 0,
        "missing": "",
    }


def test_a_spec_that_is_wrong_itself_is_refused(spec: str, capsys) -> None:
    """Nothing is learned from edits of it."""
    Path(spec).write_text(SPEC.replace("  fork side from main\n", ""), encoding="utf-8")
    assert main(["mutate", spec]) == 2
    assert "1 error in p.spec" in capsys.readouterr().err


def test_at_least_one_edit_is_asked_for(spec: str, capsys) -> None:
    """A bound of none is a slip."""
    assert main(["mutate", spec, "--most", "0"]) == 2
    assert capsys.readouterr().err == "plait mutate: --most 0: try at least one edit\n"


def test_a_rule_that_is_not_there_lets_mutants_survive(
    spec: str, capsys, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the rule about races the score says which needed order is lost, and the exit code is 1."""
    from plait.compiler import rules
    from plait.compiler.rules import race

    text = SPEC.replace("join look", "join side")
    Path(spec).write_text(text, encoding="utf-8")
    kept = tuple(one for one in rules.MODULES if one is not race)
    monkeypatch.setattr(rules, "MODULES", kept)
    assert main(["mutate", spec]) == 1
    lost = "line 10: drop `fork side from main`: survives: `look` may meet `make` in `x`"
    assert lost in capsys.readouterr().out.splitlines()
