"""Captures written around what graphs can hold."""

from __future__ import annotations

import pytest

from plait.compiler.compile import Asked, prove_all
from plait.compiler.graphs.segments import captured
from plait.dsl.span import Source

BARE = """\
spec 1

pipeline p {
  dim bs in [1, 2]
  stream main
  stream side
  buffer x : i64[bs] carried
  buffer y : i64[bs]
  buffer z : i64[bs]

  # What comes first.
  phase first on main { updates x }  # a remark
  fork side from first
  phase beside on side { reads x  writes y }
  phase more on main { reads x  writes z }
  join side into main
  phase last on main { reads y, z  updates x }
  join main into host
  phase look on host { reads x }
  phase again on main host_sync { updates x }
}
"""

WRITTEN = """\
  # What comes first.
  capture graph1 on main rows bs {
    phase first on main { updates x }  # a remark
    fork side from first
    phase beside on side { reads x  writes y }
    phase more on main { reads x  writes z }
    join side into main
    phase last on main { reads y, z  updates x }
  }
  join main into host
"""


def test_a_run_with_its_branches_becomes_one_capture() -> None:
    """Forks that come back are inside, remarks stay, and what no graph may hold is named."""
    found = captured(Source("p.spec", BARE), Asked())
    assert WRITTEN in found.source.text
    assert [(one.name, one.launches) for one in found.segments] == [("graph1", 4)]
    assert [one.why for one in found.left] == [
        "`look`: it runs on the host",
        "`again`: it blocks the host",
    ]
    assert (found.launches, found.buckets, found.apart) == ((5, 2), 2, ())


def test_what_no_longer_runs_side_by_side_is_said() -> None:
    """Work that waits for a phase inside waits for the whole graph."""
    text = BARE.replace("  stream side\n", "  stream side\n  stream out\n  buffer w : i64[bs]\n")
    text = text.replace("first on main { updates x }", "first on main { updates x  writes w }")
    give = "  fork out from first\n  phase give on out { reads w }\n"
    text = text.replace("  join main into host", give + "  join main into host")
    text = text.replace("  phase again", "  join out into main\n  phase again")
    found = captured(Source("p.spec", text), Asked())
    assert found.apart == (("beside", "give"), ("last", "give"), ("more", "give"))


def test_what_would_be_an_error_is_tried_in_smaller_runs() -> None:
    """A graph's branch is not the stream outside: what follows there would not wait for it."""
    text = BARE.replace("phase last on", "phase alone on side { reads y }\n  phase last on")
    text = text.replace("join main into host", "join side into main\n  join main into host")
    found = captured(Source("p.spec", text), Asked(), singles=True)
    assert [one.name for one in found.segments] == [f"graph{n}" for n in (1, 2, 3, 4, 5)]
    judged = prove_all(found.source, Asked())
    assert not [d for one in judged for d in one.findings if d.severity == "error"]


def test_what_others_read_while_the_next_replay_may_run_is_made_static() -> None:
    """The pool of a graph keeps an output until the next replay alone: what is read later lies outside."""
    text = BARE.replace("writes y", "writes y, w").replace(
        "  buffer z", "  buffer w : i64[bs] copies 2\n  stream out\n  buffer z"
    )
    give = "  fork out from main\n  phase give on out { reads w }\n  join prev give into host\n"
    text = text.replace("  join main into host", give + "  join main into host")
    found = captured(Source("p.spec", text), Asked())
    assert found.static == ("w",)
    assert "buffer w : i64[bs] copies 2 static" in found.source.text


EXCHANGE = """\
spec 1

pipeline p {
  group ep
  stream main
  buffer x : f32[4] carried
  buffer y : f32[4]
  buffer z : f32[4]
  phase first on main { reads x  writes y }
  phase second on main { reads y  writes z }
  phase trade on main { updates z  collective all_to_all over ep }
  phase third on main { reads z  updates x }
}
"""


def test_what_the_target_does_not_capture_is_left_out() -> None:
    """Exchanges that wait for the host are in no graph that is proposed, nor is one launch by itself."""
    found = captured(Source("p.spec", EXCHANGE), Asked(target="ascend910c"))
    assert [(one.name, one.launches) for one in found.segments] == [("graph1", 2)]
    assert [one.why for one in found.left] == [
        "`trade`: it waits for the host in the mode `all_to_all` on ascend910c",
        "a phase by itself is one launch anyway",
    ]
    assert not captured(Source("p.spec", EXCHANGE), Asked()).left


@pytest.mark.parametrize(
    "name", ["eagle", "eagle_serial", "graph_vote", "offload", "extend_planning"]
)
def test_an_example_with_more_captures_is_sound(name: str, root) -> None:
    """Whatever is written passes the check in every variant."""
    path = root / "examples" / f"{name}.spec"
    found = captured(Source(path.name, path.read_text(), path.parent), Asked())
    judged = prove_all(found.source, Asked())
    assert not [d for one in judged for d in one.findings if d.severity == "error"]
