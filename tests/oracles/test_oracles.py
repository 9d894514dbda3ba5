"""The judges themselves, on schedules small enough to see what is right."""

from __future__ import annotations

from random import Random

import pytest

from oracles.judge import judged

TWO_STREAMS = """\
spec 1
pipeline p {
  stream main
  stream side
  buffer x : i64[4] carried COPIES
  phase make on main { writes x }
  FORWARD
  phase look on side { reads x }
  BACK
}
"""


def said(text: str) -> tuple[bool, bool, bool]:
    """Whether the rules, some interleaving and the sanitizer object."""
    found = judged(text, Random(0))
    assert found.every or found.different
    return bool(found.errors), found.different, found.unordered


@pytest.mark.parametrize(
    ("copies", "forward", "back", "wrong"),
    [
        ("", "fork side from main", "join side into main", False),
        ("", "fork side from make", "join prev look into main", True),
        ("", "", "join side into main", True),
        ("", "fork side from main", "join look into host", False),
        ("", "join make into host", "join side into main", False),
        ("copies 2", "fork side from main", "join prev look into main", False),
        ("copies 2", "fork side from main", "join prev 2 look into main", True),
        ("copies 3", "fork side from main", "join prev 2 look into main", False),
    ],
)
def test_all_three_see_a_missing_order(copies: str, forward: str, back: str, wrong: bool) -> None:
    """Of a round and between rounds, by streams and by the host; copies allow what rounds share."""
    text = TWO_STREAMS.replace("COPIES", copies)
    assert said(text.replace("FORWARD", forward).replace("BACK", back)) == (wrong,) * 3


def test_a_host_buffer_is_read_from_the_issue_on() -> None:
    """The stream's order is too late for it: only a host that waits keeps the refill away."""
    text = """\
spec 1
pipeline p {
  stream main
  buffer x : i64[4] carried on host
  phase fill on host { writes x }
  phase send on main { reads x }
  BACK
}
"""
    assert said(text.replace("BACK", "")) == (True, True, True)
    assert said(text.replace("BACK", "join prev send into host")) == (True, True, True)
    assert said(text.replace("BACK", "join send into host")) == (False, False, False)


def test_a_graph_takes_its_inputs_in_when_it_is_loaded() -> None:
    """What it copies may change once it is loaded; what it holds the address of, once it has ended."""
    text = """\
spec 1
pipeline p {
  stream main
  stream side
  buffer x : i64[4] carried HELD
  buffer y : i64[4] carried
  capture g on main rows 4 { phase turn on main { reads x updates y } }
  fork side from g.loaded
  phase next on side { updates x }
  join side into main
}
"""
    assert said(text.replace("HELD", "")) == (False, False, False)
    assert said(text.replace("HELD", "static")) == (True, True, True)


def test_a_frontier_of_earlier_rounds_is_waited_for_in_every_route() -> None:
    """The stream has no work yet where the guard is false, but a wait, and what another round left there."""
    text = """\
spec 1
pipeline p {
  guard often
  stream main
  stream side
  buffer x : i64[4] carried
  buffer y : i64[4] carried copies 3
  phase make on side { updates y[0 .. 1] }
  join make into main
  when often { phase turn on main { updates y } }
  join make into host
  join main into host
  phase note on host { updates x }
  phase last on main { updates x }
}
"""
    assert said(text) == (False, False, False)


def test_a_stream_has_yet_to_wait_at_the_end_of_a_round_that_lacks_the_point() -> None:
    """Whoever waits for it there waits for that as well, on any route: the frontier passes it on."""
    text = """\
spec 1
pipeline p {
  guard often
  stream a
  stream b
  stream c
  buffer x0 : i64[4] carried
  buffer x1 : i64[4] carried
  buffer x2 : i64[4] carried copies 3
  phase p0 on a { reads x2[3 .. 3] }
  fork a from prev 1 p2
  launch p1 on a { updates x0 reads x1 updates x2 }
  await p1 on b
  when often { phase p2 on b { updates x0 } }
  join a into b
}
"""
    assert said(text) == (False, False, False)
    assert said(text.replace("fork a from prev 1 p2", "")) == (True, True, True)
