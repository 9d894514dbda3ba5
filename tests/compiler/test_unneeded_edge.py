"""An edge is noted when nothing in any variant or bucket needs it, and only then."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given, settings

from drawing.rounds import elaborated, mended, round_texts
from plait.compiler.compile import Asked
from plait.compiler.fix import mended as fixed
from plait.compiler.order import order
from plait.compiler.races.conflicts import races
from plait.compiler.round import Edge, Round
from plait.compiler.rules import never_comes_back, unneeded_edge
from plait.compiler.target import load_target
from plait.dsl.span import Source

TWO = """\
spec 1
pipeline p {
  param both = true
  dim n in [1, 2]
  stream main
  stream side
  buffer x : i64[4]
  buffer y : i64[4]
  phase make on main { writes x }
  fork side from make
  phase look on side { when both { reads x } writes y }
  join side into main
}
variant one of p { set both = false }
"""


def codes(found) -> list[str]:
    return [diagnostic.code for diagnostic in found]


def lines(found) -> list[int]:
    return [diagnostic.span.line for diagnostic in found]


def test_an_edge_that_one_variant_needs_is_needed(findings) -> None:
    """`one` alone would do without the fork; the file as a whole would not."""
    assert findings(TWO, small=True) == []
    found = findings(TWO, variant="one", small=True)
    assert [(d.code, d.severity) for d in found] == [("PL901", "note")]
    assert dict(found[0].facts) == {"edge": "fork side from make", "cost": "1 wait a round"}


def test_an_edge_that_one_bucket_needs_is_needed(findings) -> None:
    """Regions that meet at the larger bucket only."""
    text = TWO.replace("when both { reads x }", "reads x[n - 1]").replace("writes x", "writes x[1]")
    text = text.replace("i64[4]\n", "i64[4] carried\n")
    assert findings(text, small=True) == []
    assert lines(findings(text.replace("[1, 2]", "[1]"), small=True)) == [10]


def test_only_on_request_is_an_edge_taken_out() -> None:
    """An unneeded edge goes with its line, once `--waste` says so; where a brace holds it alone, it stays."""
    extra = "  join side into main\n  join side into host\n}"
    source = Source("two.spec", TWO.replace("  join side into main\n}", extra))
    assert fixed(source, Asked()).source is source
    assert fixed(source, Asked(), waste=True).source.text == TWO
    held = Source(
        "two.spec", source.text.replace("join side into host", "when both { join side into host }")
    )
    assert fixed(held, Asked(), waste=True).source is held


def test_of_two_that_do_the_same_the_later_is_noted(findings) -> None:
    """Either could go, not both."""
    twice = TWO.replace("  fork side from make\n", "  fork side from make\n" * 2)
    (found,) = findings(twice)
    assert found.span.line == 11
    assert dict(found.facts)["cost"] == "no wait: other edges give it"


def test_an_edge_that_brings_a_branch_back_is_needed(findings) -> None:
    """No data needs the fork or the join; the join can only go once the fork has gone."""
    text = """\
spec 1
pipeline p {
  stream main
  stream side
  buffer x : i64[4] carried
  buffer y : i64[4] carried
  phase step on main { updates x }
  fork side from step
  phase apart on side { updates y }
  join side into main
}
"""
    assert lines(findings(text)) == [8]
    assert lines(findings(text.replace("  fork side from step\n", ""))) == [9]


def test_edges_with_races_are_not_judged(findings) -> None:
    """Errors first: what an edge is for may be what is missing."""
    wrong = TWO.replace("fork side from make", "fork side from main").replace(
        "phase make on main { writes x }\n  fork side from main",
        "fork side from main\n  phase make on main { writes x }",
    )
    assert {d.severity for d in findings(wrong)} == {"error"}


def test_an_edge_between_names_of_one_stream_is_none(findings) -> None:
    """With the streams collapsed in every variant there is nothing to note."""
    text = TWO.replace("stream side", "stream side if false else main")
    assert findings(text) == []


def test_a_statement_of_a_loop_is_judged_as_one(findings) -> None:
    """It stays while any turn of the loop needs it."""
    text = """\
spec 1
pipeline p {
  param steps = 3
  stream main
  stream side
  buffer x : i64[8]
  buffer y : i64[8] carried
  phase first on main { writes x }
  for i in 1 .. steps {
    fork side from first
    phase look[i] on side { reads x[i]  updates y }
  }
  join side into main
}
"""
    assert findings(text, small=True) == []
    assert lines(findings(text.replace("reads x[i]  updates y", "updates y"), small=True)) == [10]


def test_the_structure_of_a_capture_is_no_waste(proven) -> None:
    """An edge between the braces is what makes a stream part of the graph."""
    found = proven(
        "pipeline p { stream a  stream b  buffer x : i64[4] carried  buffer y : i64[4] carried "
        "capture g on a rows 4 { phase p on a { updates x }  fork b from a "
        "phase w on b { updates y }  join b into a } }"
    )
    assert unneeded_edge.check([found], load_target("cpu")) == []


SLOT = """\
spec 1
pipeline p {
  pool slots = 1
  stream main
  stream side
  buffer x : f32[4] carried
  buffer a : f32[4] in slots
  buffer b : f32[4] in slots
  buffer u : f32[4] carried
  buffer v : f32[4] carried
  phase send_a on main { reads x  writes a }
  phase take_a on main { reads a  updates u }
  fork side from take_a
  phase send_b on side { reads x  writes b }
  phase take_b on side { reads b  updates v }
  phase beside on main { reads x  updates u }
  join side into main
}
"""


def test_an_edge_that_frees_a_slot_is_needed(findings) -> None:
    """No two accesses meet, and yet without it two values are alive in a pool of one."""
    assert codes(findings(SLOT)) == []
    assert codes(findings(SLOT.replace("  fork side from take_a\n", ""))) == ["PL852"]


BESIDE = """\
spec 1
pipeline p {
  group tp
  group ep
  stream main
  stream comm : comm
  buffer x    : f32[4] carried
  buffer y    : f32[4] carried
  buffer recv : opaque
  fork comm from main
  phase dispatch on comm { reads x  writes recv  collective low_latency over ep }
  phase shared on main { updates y }
  join comm into main
  phase reduce on main { updates y  collective all_reduce over tp }
  phase combine on main { reads recv  updates x  collective low_latency over ep }
}
"""


def test_an_edge_that_keeps_collectives_apart_is_needed(findings) -> None:
    """Later would do for the data; a device that cannot hold both collectives needs it there."""
    early = BESIDE.replace("  phase combine", "  join comm into main\n  phase combine")
    assert codes(findings(early, target="cuda")) == ["PL901"]
    assert codes(findings(BESIDE, target="ascend910c")) == []
    late = early.replace("  join comm into main\n", "", 1)
    assert codes(findings(late, target="cuda")) == []
    assert codes(findings(late, target="ascend910c")) == ["PL455"]


def test_very_large_rounds_are_judged_in_part(findings, monkeypatch) -> None:
    """Past the bound edges are left unjudged, the earlier ones in the text."""
    twice = TWO.replace("  fork side from make\n", "  fork side from make\n" * 2)
    monkeypatch.setattr(unneeded_edge, "MOST_ITEMS", 10)
    assert findings(twice, small=True) == []


@given(round_texts())
@settings(max_examples=200)
def test_what_is_noted_can_go_and_nothing_else_can(text: str) -> None:
    """Without any one of them, and without all, no race and no lost branch; each other edge is needed."""
    round = mended(elaborated(text))
    if never_comes_back.check(round, order(round)):
        return
    cpu = load_target("cpu")
    noted = {diagnostic.span for diagnostic in unneeded_edge.check([order(round)], cpu)}
    for span in noted:
        assert sound(round, without(round, {span})), text
    shorter = without(round, noted)
    assert not races(order(shorter)), text
    for edge in shorter.edges:
        if edge.target != round.origin(edge.source):
            assert not sound(round, without(shorter, {edge.span})), text


def without(round: Round, spans: set) -> Round:
    kept = (i for i in round.items if not (isinstance(i, Edge) and i.span in spans))
    return replace(round, items=tuple(kept))


def sound(written: Round, round: Round) -> bool:
    found = order(round, order(written).rounds)
    return not races(found) and not never_comes_back.check(written, found)
