"""Waits for a point of an earlier round that is not on the same stream on every route."""

from __future__ import annotations

ROUND = """\
spec 1
pipeline p {{
  {choice}
  stream main
  stream other
  stream side = {side}
  buffer x : i64[4] carried
  buffer y : i64[4] carried
  buffer h : i64[4] on host copies 2
{lines}
}}
"""
LOOK = """\
  fork side from main
  phase look on side { updates x  writes h }
  join side into main
"""
TAKE = "  phase take on host { reads prev h }"
BY_BUCKET = {"choice": "dim bs in [1, 2]", "side": "main if bs > 1 else other"}
BY_PARAM = {"choice": "param n in [1, 2] = 1", "side": "main if n > 1 else other"}


def test_one_error_with_what_follows_from_it(findings) -> None:
    """The race that the wait should have ended stands under it, whatever chooses the stream."""
    for choice in (BY_BUCKET, BY_PARAM):
        text = ROUND.format(**choice, lines=LOOK + "  join prev look into host\n" + TAKE)
        (found,) = findings(text)
        assert found.code == "PL406"
        assert found.message == (
            "`join prev look into host` waits on one stream only, "
            "and `look` is on other or on main, by route"
        )
        assert found.help == "keep `look` on one stream, or name a point after it that is on one"
        assert [one.code for one in found.because] == ["PL203"]


def test_the_mend_names_a_point_that_stays(findings) -> None:
    """The first after it on one stream: a phase or a whole capture."""
    last = "  phase last on main { updates y }\n"
    graph = f"  capture last on main rows 4 {{\n  {last.replace('last', 'inner')}  }}\n"
    for after in (last, graph):
        text = ROUND.format(**BY_BUCKET, lines=LOOK + after + "  join prev look into host\n" + TAKE)
        (found,) = findings(text, small=True)
        assert found.fix.title == "name `prev last` in place of `prev look`"
        (edit,) = found.fix.edits
        assert edit.span.text == "prev look" and edit.text == "prev last"
        assert findings(text.replace("prev look", "prev last"), small=True) == []


def test_a_point_on_two_streams_is_no_fault_where_another_edge_does(findings) -> None:
    """Nothing is without an order, so nothing is refused."""
    allow = "  # allow PL901: the host may not run ahead"
    text = ROUND.format(**BY_BUCKET, lines=LOOK + "  join prev look into host" + allow)
    assert findings(text, small=True) == []


def test_no_edge_is_offered_that_would_move_with_the_route(findings) -> None:
    """Without an edge the race says why `prev` of that phase is none."""
    lines = LOOK.replace("  fork side from main\n", "")
    found = findings(ROUND.format(**BY_BUCKET, lines=lines))
    assert {one.code for one in found} == {"PL203"} and not any(one.fix for one in found)
    assert all("by route, so no `prev look` waits for all of it" in one.help for one in found)
