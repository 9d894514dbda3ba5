"""What a capture may hold, and what it may wait for, beyond the examples of the rules."""

from __future__ import annotations

import pytest

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


AHEAD = """\
spec 1
pipeline p {{
  guard graphs
  stream main
  stream upd : update
  buffer lens_host : i64[4] on host copies 2
  buffer lens : i64[4] task
  buffer x : i64[4] carried
  capture g on main rows 4 {when}{{
    join rebind into main
    phase attention on main {{ reads lens  updates x }}
  }}
{lines}
  phase rebind on upd {{ reads lens_host  writes lens }}
}}
"""


def test_a_graph_may_wait_for_a_rebind_further_down(findings, compiled) -> None:
    """Where the rebind is free to run it is written in time, and the wait is the graph's own."""
    lines = "  phase lengths on host { writes lens_host }\n  fork upd from prev g"
    lines += "\n  join prev rebind into host"
    text = AHEAD.format(when="", lines=lines)
    assert findings(text, target="ascend910c") == []
    (capture,) = compiled(text, target="ascend910c").captures
    assert [one.op for one in capture.program] == ["external", "run"]


def test_a_circle_through_the_host_is_shown_step_by_step(findings) -> None:
    """The host waits for the graph before it issues what the graph waits for, on either route."""
    lines = (
        "  join g into host\n  phase lengths on host { writes lens_host }\n  fork upd from prev g"
    )
    (found,) = [
        one
        for one in findings(AHEAD.format(when="", lines=lines), target="ascend910c")
        if one.code == "PL405"
    ]
    assert found.message == "`join rebind into main` waits for `rebind`, which waits for it"
    assert found.witness == (
        "`attention` waits for `rebind` (line 10)",
        "`rebind` runs once the host has issued it",
        "the host comes to `rebind` after `lengths`",
        "the host comes to `lengths` after `join g into host`",
        "`join g into host` waits for `g` (line 13)",
        "`g` ends after `attention`",
    )


def test_without_a_graph_nothing_waits_for_what_comes_later(findings) -> None:
    """The route on which the capture is eager is named; with the rebind above it both are right."""
    lines = "  phase lengths on host { writes lens_host }\n  fork upd from prev g"
    text = AHEAD.format(when="when graphs ", lines=lines)
    (found,) = [one for one in findings(text, target="ascend910c") if one.code == "PL510"]
    assert found.message == (
        "`rebind` is issued below `join rebind into main`, "
        "and without a graph nothing waits for that at graphs = false"
    )


def test_only_a_rebind_may_stand_below_what_waits_for_it(findings) -> None:
    """Another phase further down crosses the brace, and one of the same capture is no rebind."""
    text = AHEAD.format(when="", lines="").replace("lens : i64[4] task", "lens : i64[4] static")
    assert [one.code for one in findings(text)] == ["PL503"]
    text = AHEAD.format(when="", lines="").replace("join rebind", "join attention")
    assert [one.code for one in findings(text)] == ["PL503"]


def test_a_rebind_further_down_must_still_wait_for_the_last_replay(findings) -> None:
    """The next value is not put in place of one that the replay before still reads."""
    text = AHEAD.format(when="", lines="  phase lengths on host { writes lens_host }")
    found = findings(text, target="ascend910c")
    assert "before line 14, write: fork upd from prev g" in [one.fix.title for one in found]


INPUT = """\
spec 1
pipeline p {{
  stream main
  stream side
  buffer given : i64[4]{attributes}
  buffer x : i64[4] carried
  phase fill on main {{ writes given }}
  capture g on main rows 4 {{ phase step on main {{ reads given  updates x }} }}
  fork side from g.loaded
  phase refill on side {{ writes given }}
  join side into main
}}
"""


def test_a_static_input_is_not_free_once_the_graph_is_loaded(findings) -> None:
    """Only what is copied in may change between load and replay; the message says so."""
    assert findings(INPUT.format(attributes="")) == []
    (found,) = findings(INPUT.format(attributes=" static"))
    assert found.code == "PL201"
    assert found.help == "`g` reads `given` where it lies until it ends, loaded or not"
    assert found.fix.title == "before line 10, write: fork side from g"


def test_a_static_input_that_nothing_refreshes_is_stale(findings) -> None:
    """What the round does not write and does not carry has no value for the graph to read."""
    text = INPUT.format(attributes=" static").replace("  phase fill on main { writes given }\n", "")
    assert "PL301" in [one.code for one in findings(text)]


GAP = """\
spec 1
pipeline p {{
  stream main
  stream side
  buffer x : i64[4] carried
  buffer ahead : i64[4]{attributes}
  buffer z : i64[4]
  capture first on main rows 4 {{ phase a on main {{ updates x }} }}
  fork side from main
  phase prefetch on side {{ writes ahead }}
  capture second on main rows 4 {{ phase b on main {{ updates x }} }}
{lines}
}}
"""


def test_a_branch_may_stay_open_over_the_next_capture(findings) -> None:
    """Forked in the gap between two graphs, it is joined behind the second, or in the next round."""
    late = "  join side into main\n  phase take on main { reads ahead  writes z }"
    assert findings(GAP.format(attributes="", lines=late)) == []
    lines = "  join prev prefetch into main\n  phase take on main { reads prev ahead  writes z }"
    assert findings(GAP.format(attributes=" copies 2", lines=lines)) == []


def test_a_branch_that_no_graph_waits_for_never_comes_back(findings) -> None:
    """Left open over the boundary for good, it is named with the races that follow."""
    lines = "  phase take on main { reads ahead  writes z }"
    (found,) = findings(GAP.format(attributes="", lines=lines))
    assert found.code == "PL401" and [one.code for one in found.because] == ["PL201"]


def test_a_point_that_a_setting_leaves_out_cannot_be_waited_for(findings) -> None:
    """A fork names what is issued above it at every setting; only `prev` may find nothing."""
    text = """\
spec 1
pipeline p {
  guard quick
  stream main
  stream side
  buffer x : i64[4] carried
  buffer y : i64[4]
  when quick { phase make on main { updates x } }
  fork side from make
  phase look on side { writes y }
  join side into main
}
"""
    (found,) = findings(text)
    assert found.code == "PL101"
    assert found.message == "`make` is not issued above this line at every setting"
    assert found.help == "write the edge below `make`, and under the same `when`"
    assert "PL101" not in [
        one.code for one in findings(text.replace("from make", "from prev make"))
    ]


FORKED = """\
spec 1
pipeline p {{
  stream main
  stream side
  stream third
  buffer x : i64[4] carried
  buffer y : i64[4] carried
  buffer z : i64[4] carried
  capture g on main rows 4 {{
    fork side from main
    phase first on side {{ updates y }}
{lines}
  }}
}}
"""
LAST = "    phase last on {} {{ updates z }}"
THIRD = "    fork third from first"
DONE = "    phase done on main { updates x }"


@pytest.mark.parametrize(
    "lines",
    [
        ["    join side into main", DONE, LAST.format("side")],
        [LAST.format("side"), "    join first into main", DONE],
        [THIRD, LAST.format("third"), "    join side into main"],
        [THIRD, LAST.format("third"), "    join third into side", "    join first into main"],
    ],
)
def test_a_capture_does_not_end_while_a_side_stream_runs_on(findings, lines: list[str]) -> None:
    """What a stream does after the join that it comes back by is left behind: no device ends that."""
    assert [
        (one.code, one.message.rsplit(": ")[-1])
        for one in findings(FORKED.format(lines="\n".join(lines)))
    ] == [("PL401", "nothing waits for `last`")]


@pytest.mark.parametrize(
    "lines",
    [
        [LAST.format("side"), "    join side into main"],
        [THIRD, LAST.format("third"), "    join third into main"],
        [THIRD, LAST.format("third"), "    join third into side", "    join side into main"],
    ],
)
def test_a_side_stream_may_come_back_by_another(findings, lines: list[str]) -> None:
    """What is joined is all that it waits for, its own forks and joins included."""
    assert findings(FORKED.format(lines="\n".join(lines)), small=True) == []
