"""Captures broken around what no graph may hold."""

from __future__ import annotations

import pytest

from plait.cli import main
from plait.compiler.compile import Asked
from plait.compiler.graphs.breaking import Broken, Unbroken, broken
from plait.dsl.span import Source

HELD = """\
spec 1

pipeline p {
  dim bs in [1, 2]
  stream main
  stream side
  stream out
  buffer x : i64[bs] carried
  buffer y : i64[bs]
  buffer z : i64[bs]
  buffer w : i64[bs] on host
  buffer v : i64[bs] carried

  # The round.
  capture step on main rows bs {
    phase first on main { reads x  writes y  cost 5us }
    fork side from first
    phase beside on side { reads y  updates v  cost 20us }
    phase more on main { reads y  writes z  cost 10us }  # while beside runs
    # The host decides.
    join main into host
    phase look on host { reads z  writes w  cost 3us }
    phase again on side { updates v  cost 5us }
    phase last on main { reads z, w  updates x  cost 7us }
    join side into main
  }
  fork out from step
  phase give on out { reads v }
  join prev give into main
  fork out from step.loaded
  join out into main
}
"""

BROKEN = """\
  # The round.
  capture step_1 on main rows bs {
    phase first on main { reads x  writes y  cost 5us }
    fork side from first
    phase beside on side { reads y  updates v  cost 20us }
    phase more on main { reads y  writes z  cost 10us }  # while beside runs
    join side into main
  }
  # The host decides.
  join main into host
  phase look on host { reads z  writes w  cost 3us }
  capture step_2 on main rows bs {
    fork side from main
    phase again on side { updates v  cost 5us }
    phase last on main { reads z, w  updates x  cost 7us }
    join side into main
  }
  fork out from step_2
  phase give on out { reads v }
  join prev give into main
  fork out from step_1.loaded
  join out into main
}
"""


def cut(text: str, target: str = "cpu") -> Broken:
    found = broken(Source("p.spec", text), Asked(target=target))
    assert found is not None
    return found


def test_branches_come_back_before_a_break_and_leave_again_behind_it() -> None:
    """What waits for the capture waits for the last part, what waits until it is loaded for the first."""
    found = cut(HELD)
    assert found.source.text.endswith(BROKEN)
    (one,) = found.breaks
    assert (one.parts, one.forks, one.joins, one.left_out) == (("step_1", "step_2"), 1, 1, 0)
    assert found.launches == (2, 3)
    assert found.apart == (("beside", "last"), ("beside", "look"))
    assert found.longest == (30_000, 35_000)


def test_the_verb_says_what_it_costs(tmp_path, capsys) -> None:
    """Every obstacle, the edges, launches and graphs more, the longest way, and what is apart."""
    path = tmp_path / "p.spec"
    path.write_text(HELD)
    assert main(["capture", str(path), "--write"]) == 0
    assert (
        capsys.readouterr().out
        == """\
line 21: `join main into host`: the host waits
line 22: `look`: it runs on the host
line 15: step is now step_1, step_2; 1 forks and 1 joins more, 0 edges left out
a round: 2 launches as it stood, 3 broken; 2 more graphs
the longest way by declared costs: 30us as it stood, 35us broken
no longer side by side: beside and last
no longer side by side: beside and look
"""
    )
    assert main(["check", str(path)]) == 0


RAW = """\
spec 1

pipeline p {
  stream main
  stream side
  buffer x : i64[4] carried
  buffer y : i64[4] carried
  capture g on main rows 4 {
    fork side from main
    phase one on side { updates y }
    phase two on main { updates x }
    phase odd on side raw { updates y }
    phase three on main { updates x }
    phase four on side { updates y }
    join side into main
  }
}
"""


def test_a_raw_launch_on_a_branch_runs_between_its_graphs() -> None:
    """The branch is forked and joined outside as well."""
    assert (
        """\
  capture g_1 on main rows 4 {
    fork side from main
    phase one on side { updates y }
    phase two on main { updates x }
    join side into main
  }
  fork side from main
  phase odd on side raw { updates y }
  join side into main
  capture g_2 on main rows 4 {
    fork side from main
    phase three on main { updates x }
    phase four on side { updates y }
    join side into main
  }
"""
        in cut(RAW).source.text
    )


EXCHANGE = """\
spec 1

pipeline p {
  group ep
  stream main
  buffer x : f32[4] carried
  buffer y : f32[4]
  capture g on main rows 4 {
    phase first on main { reads x  writes y }
    phase trade on main { updates y  collective all_to_all over ep }
    phase last on main { reads y  updates x }
  }
}
"""


def test_an_exchange_breaks_a_capture_where_the_target_does_not_capture_it() -> None:
    """Elsewhere the capture stays whole."""
    assert cut(EXCHANGE, "ascend910c").breaks[0].parts == ("g_1", "g_2")
    assert broken(Source("p.spec", EXCHANGE), Asked()) is None


def test_what_stands_first_or_last_is_moved_out_and_the_name_stays() -> None:
    """One part that is left is the capture."""
    text = HELD.replace("    phase again", "    phase stay").replace(
        "    join side into main\n  }", "  }"
    )
    text = text[: text.index("    phase stay")] + "  }\n}\n"
    (one,) = cut(text.replace("reads y  updates v", "reads y")).breaks
    assert one.parts == ("step",)


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        (
            "phase look on host { reads z  writes w  cost 3us }",
            "for i in 1 .. 2 {\n phase odd[i] on side raw { updates v }\n"
            "phase even[i] on main { updates x }\n}",
            "`step` cannot be broken: line 22: a loop over several streams stands in it",
        ),
        (
            "    join main into host\n",
            "",
            "`step` cannot be broken: the text would not be right, PL201: `look` on host may read",
        ),
        ("stream out", "stream out\n  buffer step_1 : opaque", "`step_1` is a name already"),
    ],
)
def test_what_cannot_be_broken_is_refused_with_the_reason(old: str, new: str, why: str) -> None:
    """Nothing is written then."""
    with pytest.raises(Unbroken) as caught:
        cut(HELD.replace(old, new))
    assert why in str(caught.value)
