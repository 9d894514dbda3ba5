"""Guards, run-time params, votes and launches: which rounds there are, and what each issues."""

from __future__ import annotations

import pytest

from plait.compiler.views.steps import steps

GUARDED = """\
spec 1
pipeline p {
  param steps in [1, 2] = 2
  group tp = 1
  dim bs in [1, 4] over tp
  guard graph over tp
  guard ready over tp if steps > 1 else true
  guard local
  stream main
  buffer x : i64[bs] carried
  capture g on main rows bs when graph and ready {
    for i in 1 .. steps { phase step[i] on main { updates x } }
  }
  when local { phase extra on main { updates x } }
}
"""


def test_every_route_is_a_bucket_and_equal_programs_are_one(compiled) -> None:
    """A guard that is not asked has one answer; sizes share the program of their route."""
    schedule = compiled(GUARDED)
    routes = [dict(bucket.route) for bucket in schedule.buckets]
    assert len(schedule.buckets) == 2 * (8 + 4) and routes[0] == {
        "steps": 2,
        "graph": True,
        "ready": True,
        "local": True,
    }
    assert sum("ready" not in route for route in routes) == 2 * 4
    assert len(schedule.programs) == 8
    assert schedule.buckets[0].name == "bs = 1, steps = 2, graph = true, ready = true, local = true"
    assert [capture.name for capture in schedule.captures] == ["g", "g"]  # of two steps, and of one


def test_adjacent_votes_of_a_group_are_one(compiled) -> None:
    """A dim of the largest rank and guards over one group are one question; a local guard is its own."""
    schedule = compiled(GUARDED)
    votes = {vote.names: vote.group for vote in schedule.votes}
    assert votes == {("bs", "graph", "ready"): 0, ("bs", "graph"): 0, ("local",): None}
    assert [one.op for one in schedule.program_of(schedule.buckets[0])][:2] == ["vote", "vote"]


def test_the_default_of_a_run_time_param_can_be_set(compiled, findings) -> None:
    """To one of its choices; its default comes first."""
    schedule = compiled(GUARDED, settings={"steps": 1})
    assert dict(schedule.buckets[0].route)["steps"] == 1
    (found,) = findings(GUARDED, settings={"steps": 3})
    assert (found.code, found.message) == ("PL106", "`steps` is 3, which is none of its choices")


def test_too_many_routes_come_with_the_bill(findings) -> None:
    """Each factor is named, and what to do about the dearest."""
    guards = "\n".join(f"  guard g{n}" for n in range(13))
    (found,) = findings(f"pipeline p {{ dim bs in [1, 2, 4]\n{guards} stream s }}")
    assert found.code == "PL602" and "24,576 routes" in found.message
    assert dict(found.facts)["routes"].startswith("3 (bs) x 2 (g0) x 2 (g1)")
    assert found.help == "list fewer values of `bs`, or settle it before compiling"


def test_an_edge_that_only_one_route_has_is_missed_on_the_other(findings) -> None:
    """Each route is right when it repeats; a round of one after the other is not."""
    text = """\
spec 1
pipeline p {
  guard apart
  stream main
  stream side
  buffer x : i64[4] carried
  when apart { phase work on side { updates x } } else { phase work on main { updates x } }
}
"""
    found = findings(text)
    assert [(d.code, dict(d.facts)["routes"], dict(d.facts)["missing edge"]) for d in found] == [
        ("PL203", "apart = false; then apart = true", "join prev work into side"),
        ("PL203", "apart = true; then apart = false", "join prev work into main"),
    ]


ELSEWHERE = """\
spec 1
pipeline p {
  guard extra
  stream main
  stream side
  buffer x : i64[4] carried
  buffer seen : i64[4] carried
  fork side from prev add
  phase look on side { reads x  writes seen }
  join side into main
  when extra { phase add on main { updates x } }
}
"""


def test_a_point_of_another_route_is_waited_for(compiled, findings) -> None:
    """On the route without it too: its newest record may be of a round that had it."""
    assert findings(ELSEWHERE, small=True) == []
    schedule = compiled(ELSEWHERE)
    shown = [
        [(one.op, one.of, one.rounds_back) for one in program] for program in schedule.programs
    ]
    add = next(number for number, event in enumerate(schedule.events) if event.name == "add")
    assert schedule.events[add].depth == 2
    assert all(("wait", add, 1) in program for program in shown)
    assert all(("record", add, 0) in program for program in shown)
    without = findings(ELSEWHERE.replace("  fork side from prev add\n", ""), small=True)
    assert {d.code for d in without} == {"PL201"}


def test_where_routes_mix_an_edge_goes_that_no_sequence_of_them_needs(compiled) -> None:
    """What a stream was issued last is another route's matter, so its record stands with the edge; where
    every round begins with that wait, the one at the end of the round before adds nothing."""
    text = """\
spec 1
pipeline p {
  guard more
  stream main
  stream side
  buffer x : i64[4] carried
  buffer y : i64[4] carried
  fork side from main
  phase look on side { reads x  updates y }
  join side into main
  phase a on main { updates x }
  when more { phase b on main { updates x } }
  fork side from a
}
"""
    schedule = compiled(text)
    for program in schedule.programs:
        shown = [(one.op, schedule.streams[one.on].name) for one in program if one.op != "vote"]
        assert shown[:5] == [
            ("record", "main"),
            ("wait", "side"),
            ("run", "side"),
            ("record", "side"),
            ("wait", "main"),
        ]
        assert [one for one in shown[5:] if one[0] != "run"] == []
    later = compiled(
        text.replace("  fork side from main\n", "").replace(
            "fork side from a", "fork side from main"
        )
    )
    for program in later.programs:
        # For whatever comes next there, in a round of any route.
        assert program[-1].op == "wait"
    found, edges = steps(later, later.buckets[0])
    drawn = {
        (found[edge.source].name, found[edge.target].name, edge.rounds_back)
        for edge in edges
        if edge.waits and edge.target is not None
    }
    assert ("b", "look", 1) in drawn and all(edge.target is not None for edge in edges)


def test_a_capture_is_waited_for_whether_it_was_a_graph_or_not(findings) -> None:
    """Its end has another record in a round that ran it eagerly; each round records what it lacks."""
    text = """\
spec 1
pipeline rebound {
  guard g
  stream main
  stream upd : update
  buffer lens : i64[4] task
  buffer x : i64[4] carried
  fork upd from prev verify
  phase rebind on upd { writes lens }
  capture verify on main rows 4 when g {
    phase project on main { updates x }
    join rebind into main
    phase attention on main { reads lens  updates x }
  }
}
"""
    assert findings(text) == []


def test_a_point_that_no_route_has_is_no_reason_to_wait(compiled) -> None:
    """At these settings nothing ever records it."""
    text = ELSEWHERE.replace("guard extra", "param extra = false").replace("reads x  ", "")
    assert [one.op for one in compiled(text).programs[0]] == ["run"]


def test_a_launch_is_in_flight_on_a_stream_of_its_own(compiled) -> None:
    """It starts after what its stream was issued, holds none of it, and ends where it is awaited."""
    text = """\
spec 1
pipeline p {
  group ep
  stream main
  buffer x : i64[4] carried
  buffer y : i64[4]
  buffer z : i64[4]
  phase gate on main { updates x }
  launch send on main { reads x  writes y  collective all_to_all over ep }
  phase beside on main { writes z }
  await send on main
  phase last on main { reads y, z }
}
"""
    schedule = compiled(text)
    shown = [
        (one.op, schedule.streams[one.on].name)
        for one in schedule.program_of(schedule.buckets[0])
        if one.op != "record"
    ]
    assert shown == [
        ("run", "main"),
        ("wait", "send"),
        ("launch", "send"),
        ("run", "main"),
        ("wait", "main"),
        ("run", "main"),
    ]


@pytest.mark.parametrize(
    ("lines", "code", "message"),
    [
        ("launch a on main { updates x }", "PL403", "this launch is never awaited"),
        ("await b on main", "PL112", "`b` is not a launch of this round above this line"),
        (
            "phase c on main { updates x }\n await c on main",
            "PL112",
            "`c` is not a launch of this round above this line",
        ),
        ("launch a on host { updates x }", "PL505", "the host launches nothing"),
    ],
)
def test_launch_and_await_belong_together(lines: str, code: str, message: str, findings) -> None:
    """One without the other is an error of its own."""
    text = f"pipeline p {{ stream main  buffer x : i64[4] carried\n {lines} }}"
    assert [(d.code, d.message) for d in findings(text)][:1] == [(code, message)]


SIDE = """\
spec 1
pipeline p {
  stream main
  stream side
  buffer x : i64[4] carried
  buffer y : i64[4]
  buffer z : i64[4]
  capture g on main rows 4 {
    phase first on main { reads x  writes y }
    fork side from first
    phase beside on side { reads y  writes z }
    join side into main
    phase last on main { reads z  updates x }
  }
}
"""


def test_a_capture_holds_its_side_streams(compiled) -> None:
    """What is issued while it is captured: the fork and the join are waits of its own events."""
    (capture,) = compiled(SIDE).captures
    assert [(one.op, one.of, one.on) for one in capture.program] == [
        ("run", 0, 1),
        ("record", 0, 1),
        ("wait", 0, 2),
        ("run", 1, 2),
        ("record", 1, 2),
        ("wait", 1, 1),
        ("run", 2, 1),
    ]


@pytest.mark.parametrize("line", ["fork side from first", "join side into main"])
def test_a_side_stream_is_forked_and_joined_inside(line: str, findings) -> None:
    """Without the fork the graph does not know it; without the join it races, or never comes back."""
    found = findings(SIDE.replace(f"    {line}\n", ""))
    assert {d.code for d in found} <= {"PL201", "PL401", "PL504"} and found


def test_a_race_within_a_graph_is_mended_within_it(findings) -> None:
    """The fix stands between the braces, and is the edge that was taken out."""
    text = SIDE.replace("    join side into main\n", "").replace(
        "reads z  updates x", "updates x, y"
    )
    text = text.replace("last on main { updates x, y }", "last on main { updates x, y }")
    found = findings(text)
    assert found and "PL401" in {d.code for d in found}


def test_a_rebind_is_waited_for_inside_a_graph(compiled) -> None:
    """An edge into a capture is an external event; only a rebind of a task may be named by one."""
    text = """\
spec 1
pipeline p {
  stream main
  stream update
  buffer lens : i64[4] task
  buffer x : i64[4] carried
  fork update from prev g
  phase rebind on update { writes lens }
  capture g on main rows 4 {
    phase before on main { updates x }
    join rebind into main
    phase attention on main { reads lens  updates x }
  }
}
"""
    schedule = compiled(text)
    assert [one.op for one in schedule.captures[0].program] == ["run", "external", "run"]
    assert "rebind" in [one.op for one in schedule.program_of(schedule.buckets[0])]


def test_an_assumption_is_believed_and_says_why(findings) -> None:
    """Two parts of one buffer that the author vouches for do not race."""
    text = """\
spec 1
pipeline p {
  stream main
  stream side
  buffer kv : i64[8] carried
  buffer y : i64[4] carried
  phase write on main { updates kv[0 .. 4] }
  phase look on side { reads kv[4 .. 7]  updates y }
  ASSUME
}
"""
    assert [d.code for d in findings(text.replace("ASSUME", ""))] != []
    vouched = 'assume disjoint kv[0 .. 4], kv[4 .. 7], "row 4 is never in use"'
    assert [d.code for d in findings(text.replace("ASSUME", vouched))] == []
    silent = 'assume disjoint kv[0 .. 4], kv[4 .. 7], " "'
    assert "PL117" in [d.code for d in findings(text.replace("ASSUME", silent))]


def test_an_edge_in_a_capture_with_nothing_after_it_ends_with_the_capture(findings) -> None:
    """A stream that only waits there has no step of its own, and nothing to bring to the end."""
    text = """\
spec 1
pipeline p {
  dim bs in [1, 2]
  stream main
  stream side
  buffer x : i64[2] carried
  capture g on main rows 1 {
    phase change on main { updates x[bs - 1] }
    fork side from change
  }
}
"""
    assert not [one for one in findings(text) if one.code in ("PL201", "PL203")]


PREV = """\
spec 1
pipeline p {{
  param n in [1, 2] = 1
  dim bs in [1, 2]
  stream main
  buffer c : i64[4] carried
  buffer x : i64[4, 2] {kept}
  phase make on main {{ updates c  writes x{written} }}
  phase look on main {{ reads prev x{read}  updates c }}
}}
"""


@pytest.mark.parametrize(
    ("kept", "written", "read", "part"),
    [
        ("copies 2", "[_, 0 .. n - 1]", "[_, 0 .. n - 1]", "x[0 .. 3, 1]"),
        ("copies 2", "[_, 0]", "", "x[0 .. 3, 1]"),
        ("carried copies 2", "[_, 0 .. n - 1]", "", None),
        ("copies 2", "[0 .. bs - 1, _]", "[0 .. bs - 1, _]", None),
        ("copies 2", "", "[_, 0 .. n - 1]", None),
    ],
)
def test_what_an_earlier_round_left_is_what_its_route_wrote(
    findings, kept: str, written: str, read: str, part: str | None
) -> None:
    """Copies take turns whether a round writes them or not; rows that a dim adds are of new requests."""
    found = findings(PREV.format(kept=kept, written=written, read=read))
    assert [(one.code, one.message.split("`")[3]) for one in found] == (
        [("PL304", part)] if part else []
    )


def test_the_streams_of_all_routes_are_made_at_once(findings) -> None:
    """A pool that each bucket alone would not empty is empty for both."""
    lines = ["spec 1", "pipeline p {", "  dim bs in [1, 2]", "  stream main"]
    for n in range(16):
        lines += [f"  stream low{n} if bs < 2 else main", f"  stream high{n} if bs > 1 else main"]
    lines += ["  buffer x : i64[4] carried", "  phase step on main { updates x }", "}", ""]
    found = findings("\n".join(lines), target="ascend910c")
    assert [(one.code, one.message) for one in found] == [
        ("PL801", "its routes have 33 device streams; ascend910c has 32")
    ]
