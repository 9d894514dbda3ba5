"""A stream that waits and does nothing yet passes on what it waits for, as an event on it would."""

from __future__ import annotations

import pytest

from plait.compiler.order import order, rounds_needed
from plait.compiler.views.steps import steps

HEAD = """\
spec 1
pipeline p {
  param wide = false
  stream main
  stream s2
  stream s3
  buffer x : i64[4] carried
  buffer y : i64[4]
"""
SOUND = {
    "a frontier of nothing but a wait": """\
  phase make on main { writes x }
  fork s2 from main
  fork s3 from s2
  phase look on s3 { reads x  writes y }
  join s3 into main
""",
    "there and back by a stream without work": """\
  phase make on main { writes x }
  fork s3 from make
  phase look on s3 { reads x  writes y }
  join s3 into s2
  join s2 into main
""",
    "within a capture": """\
  capture g on main rows 4 {
    phase make on main { writes x }
    fork s2 from make
    fork s3 from s2
    phase look on s3 { reads x  writes y }
    join s3 into main
  }
""",
    "over the end of a round": """\
  fork s3 from s2
  phase look on s3 { reads x  writes y }
  join s3 into main
  phase make on main { updates x }
  fork s2 from make
""",
    "a launch from a stream without work": """\
  phase make on main { writes x }
  fork s2 from make
  launch look on s2 { reads x  writes y }
  await look on s3
  join s3 into main
""",
}


@pytest.mark.parametrize("name", SOUND)
def test_what_waits_pass_on_is_ordered(name: str, findings) -> None:
    """Each is refused without the edge that passes the wait on."""
    text = HEAD + SOUND[name] + "}\n"
    assert [d for d in findings(text) if d.severity == "error"] == []
    if "fork s3 from s2" in text:
        codes = {d.code for d in findings(text.replace("  fork s3 from s2\n", ""))}
        assert codes & {"PL201", "PL504"}


def test_a_wait_that_is_passed_on_is_for_the_item_itself(proven) -> None:
    """Nothing is recorded on the stream between, and both edges are what the wait is for."""
    found = proven(HEAD + SOUND["a frontier of nothing but a wait"] + "}\n")
    round = found.round
    (wait,) = [one for one in found.waits if not one.rounds_back]
    assert [round.item_name(place) for place in (wait.source, wait.target)] == ["make", "look"]
    assert [round.item_name(place) for place in wait.edges] == [
        "fork s2 from main",
        "fork s3 from s2",
    ]


CHAIN = (
    HEAD
    + """\
  stream s4
  fork s4 from s3
  phase look on s4 { writes y }
  fork s3 from s2
  join look into main
  phase make on main { updates x }
  fork s2 from make
}
"""
)


def test_a_chain_of_streams_is_followed_to_its_end(proven) -> None:
    """Each stream passes a wait on to the next one a round later, and enough rounds are looked at."""
    found = proven(CHAIN)
    longer = order(found.round, rounds_needed(found.round) + 3)
    assert found.waits == longer.waits
    assert [wait.rounds_back for wait in found.waits] == [2, 0]


ROUTES = """\
  guard odd
  phase make on main { writes x }
  fork s2 from make
  fork s3 from s2
  phase look on s3 { reads x  writes y }
  when odd { phase more on s3 { updates y } }
  join s3 into main
"""


def test_routes_pass_waits_on(compiled, findings) -> None:
    """So does the summary of a round that routes share, and the picture of a schedule."""
    text = HEAD + ROUTES + "}\n"
    assert [d for d in findings(text) if d.severity == "error"] == []
    schedule = compiled(text)
    for bucket in schedule.buckets:
        found, edges = steps(schedule, bucket)
        names = [step.name for step in found]
        pairs = {(names[e.source], names[e.target]) for e in edges if e.target is not None}
        assert ("make", "look") in pairs
