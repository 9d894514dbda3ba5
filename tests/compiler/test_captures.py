"""What a capture may hold, and what it may wait for, beyond the examples of the rules."""

from __future__ import annotations

REBOUND = """\
spec 1
pipeline p {{
  stream main
  stream side
  stream upd : update
  buffer lens : i64[4] task
  buffer x : i64[4] carried
  buffer y : i64[4] carried
  fork upd from prev last
  phase rebind on upd {{ writes lens }}
{lines}
}}
"""


def said(found) -> list[tuple[str, int, str]]:
    return [(one.code, one.span.line, one.message) for one in found]


def test_all_that_a_capture_cannot_hold_is_said_at_once(findings) -> None:
    """A phase of the host, one that blocks it and a wait of the host, each with a cure of its own."""
    found = findings("""\
spec 1
pipeline p {
  stream main
  buffer a : i64[4]
  buffer b : i64[4]
  capture g on main rows 4 {
    phase make on main { writes a }
    phase look on host { }
    phase count on main host_sync { writes b }
    join main into host
  }
}
""")
    assert said(found) == [
        ("PL501", 8, "`look` runs on the host, so the capture `g` cannot hold it"),
        ("PL501", 9, "`count` blocks the host, so the capture `g` cannot hold it"),
        ("PL501", 10, "`join main into host` waits on the host, so the capture `g` cannot hold it"),
    ]
    assert len({one.help for one in found}) == 3


def test_what_a_graph_cannot_hold_may_run_without_one(findings) -> None:
    """On the eager route the same phases are no fault; the route with a graph is named by its capture."""
    text = """\
spec 1
pipeline p {
  param graphs = true
  stream main
  buffer a : i64[4] carried
  capture g on main rows 4 when graphs {
    phase make on main raw { updates a }
  }
}
"""
    assert [one.code for one in findings(text)] == ["PL506"]
    assert findings(text, settings={"graphs": False}) == []


def test_a_branch_of_a_capture_begins_at_what_is_in_it(findings) -> None:
    """A fork from a stream that is not captured captures nothing; it is said once."""
    found = findings("""\
spec 1
pipeline p {
  stream main
  stream side
  stream third
  buffer x : i64[4] carried
  buffer y : i64[4] carried
  capture g on main rows 4 {
    fork side from third
    phase first on side { updates y }
    phase second on main { updates x }
    join side into main
  }
}
""")
    assert said(found) == [
        ("PL504", 9, "the edge begins at third, which the capture does not fork")
    ]


def test_a_rebind_brings_no_stream_into_a_graph(findings) -> None:
    """The wait for work outside is no fork, even of a stream that only writes."""
    lines = """\
  capture last on main rows 4 {
    join rebind into side
    phase attention on side { reads lens  updates x }
    join side into main
  }"""
    found = findings(REBOUND.format(lines=lines), target="ascend910c")
    assert said(found) == [("PL504", 13, "`attention` is on side, which the capture does not fork")]


def test_a_second_wait_that_the_first_implies_takes_no_record(findings) -> None:
    """On one stream, and for a later graph of it, nothing is waited for twice."""
    lines = """\
  capture g on main rows 4 {
    join rebind into main
    phase first on main { reads lens  updates x }
    join rebind into main
    phase second on main { reads lens  updates x }
  }
  capture last on main rows 4 {
    join rebind into main
    phase third on main { reads lens  updates y }
  }"""
    assert findings(REBOUND.format(lines=lines), target="ascend910c") == []


def test_a_record_may_be_shared_where_the_target_says_so(findings) -> None:
    """What is refused on one target is right on another."""
    lines = """\
  capture last on main rows 4 {
    fork side from main
    join rebind into main
    phase first on main { reads lens  updates x }
    join rebind into side
    phase second on side { reads lens  updates y }
    join side into main
  }"""
    text = REBOUND.format(lines=lines)
    assert [one.code for one in findings(text, target="ascend910c")] == ["PL509"]
    assert findings(text, target="cuda") == []
