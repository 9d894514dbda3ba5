"""Collectives over one group: their order, how much they hold, and the mode that runs."""

from __future__ import annotations

import pytest

from plait.dsl.diagnostic import Diagnostic


def around(lines: str) -> str:
    return f"spec 1\npipeline p {{\n{lines}}}\n"


TWO = """\
  group tp
  group other
  stream main
  stream side
  buffer x : f32[4] carried
  buffer y : f32[4] carried
"""
SUM_X = "  phase sum_x on main { updates x  collective all_reduce over tp }\n"
SUM_Y = "  phase sum_y on side { updates y  collective all_reduce over tp }\n"


def fixes(found: list[Diagnostic]) -> list[tuple[str, str]]:
    return [(one.code, one.fix.title if one.fix else "") for one in found]


def test_one_group_has_one_communicator(findings) -> None:
    """Neither in a round nor between rounds may two collectives be under way; two groups are apart."""
    text = around(TWO + SUM_X + SUM_Y)
    assert fixes(findings(text)) == [
        ("PL205", "before line 9, write: join prev sum_y into main"),
        ("PL205", "before line 10, write: fork side from sum_x"),
    ]
    assert (
        findings(
            text.replace(
                "updates y  collective all_reduce over tp",
                "updates y  collective all_reduce over other",
            )
        )
        == []
    )


def test_a_wait_for_the_host_comes_too_late_for_the_round_between(findings) -> None:
    """`join prev` leaves a round in which both are under way."""
    text = around(
        TWO + SUM_X + "  fork side from sum_x\n" + SUM_Y + "  join prev sum_y into host\n"
    )
    (found,) = findings(text)
    assert found.code == "PL205"
    assert found.message == (
        "`sum_x` on main may use the communicator of `tp`"
        " while `sum_y` on side of the round before still does"
    )


def test_replays_use_the_communicators_of_their_graphs(findings) -> None:
    """The library keeps no order between graphs; the edge goes between the replays."""
    one, other = (
        f"  capture {name} on {stream} rows 4 {{\n  {phase}  }}\n"
        for name, stream, phase in (("f", "main", SUM_X), ("g", "side", SUM_Y))
    )
    found = findings(around(TWO + one + other + "  join side into main\n"))
    assert fixes(found) == [("PL205", "before line 12, write: fork side from f")]


def test_within_a_graph_the_order_is_the_graphs_own(findings) -> None:
    """Two branches of one capture."""
    inner = "  fork side from main\n" + SUM_X + SUM_Y + "  join side into main\n"
    found = findings(around(TWO + "  capture g on main rows 4 {\n" + inner + "  }\n"))
    assert fixes(found) == [("PL205", "before line 12, write: fork side from sum_x")]


def test_an_edge_that_only_the_communicator_needs_is_needed(findings) -> None:
    """The two have no buffer in common, and no note says that the edge could go."""
    text = TWO + SUM_X + "  fork side from sum_x\n" + SUM_Y + "  join side into main\n"
    assert findings(around(text), small=True) == []


def test_routes_share_the_communicator(findings) -> None:
    """Each bucket is right by itself; one after the other they are not."""
    text = TWO + (
        "  dim bs in [1, 2] over tp\n  when bs == 1 {\n  "
        + SUM_X
        + "  } else {\n  "
        + SUM_Y
        + "  }\n"
    )
    found = findings(around(text))
    assert [one.code for one in found] == ["PL203", "PL203"]
    assert dict(found[0].facts)["buffer"] == "the communicator of `tp`"
    assert found[0].help == "write the edge on every route"


FLIGHT = """\
  group ep
  stream main
  stream side
  pool ll = 2
  buffer x : f32[4] carried
  buffer a : f32[4] in ll
  buffer b : f32[4] in ll
  launch one on main { reads x  writes a  collective low_latency over ep }
  launch two on main { reads x  writes b  collective low_latency over ep }
  await one on main
  await two on main
  phase add on main { reads a, b  writes x }
"""


def test_operations_in_flight_enter_in_the_order_of_their_stream(findings) -> None:
    """Two launched on one stream may be in flight at once; two of different streams have no order."""
    assert findings(around(FLIGHT)) == []
    apart = FLIGHT.replace("launch two on main", "fork side from main\n  launch two on side")
    assert "PL205" in {one.code for one in findings(around(apart))}


SENT = """\
  param rows_a = 640
  dim bs in [1, 128]
  group ep
  stream main
  buffer x : f32[bs] carried
  buffer a : opaque
  phase draft on main { reads x  writes a  rows bs * 5  collective low_latency over ep capacity 512 }
  phase mend on main { reads a  writes x }
  phase target on main { reads x  writes a  rows bs * 6  collective low_latency over ep capacity 512 }
  phase again on main { reads a  writes x }
"""


def test_draft_and_target_are_judged_each_at_the_largest_bucket(findings) -> None:
    """Both numbers are shown, at the least bucket that shows them, once."""
    messages = [one.message for one in findings(around(SENT)) if one.code == "PL851"]
    assert messages == [
        "`draft` exchanges 640 rows at bs = 128, over its capacity: 640 > 512",
        "`target` exchanges 768 rows at bs = 128, over its capacity: 768 > 512",
    ]


@pytest.mark.parametrize(
    ("target", "codes"), [("cpu", []), ("cuda", []), ("ascend910c", ["PL851"])]
)
def test_a_library_has_a_limit_of_its_own(findings, target: str, codes: list[str]) -> None:
    """A capacity that one target can hold is too much for another."""
    text = SENT.replace("capacity 512", "capacity 768").replace("rows bs * 5", "rows bs * 4")
    text = text.replace("rows bs * 6", "rows bs * 4").replace("f32[bs]", "f32[bs * 4]")
    found = findings(around(text), target=target)
    assert sorted({one.code for one in found}) == codes


GRAPH = """\
  param normal = true
  group ep
  stream main
  buffer x : f32[4] carried
  buffer a : opaque
  capture step on main rows 4 {
    phase dispatch on main { reads x  writes a  collective all_to_all over ep }
    phase experts on main { reads a  writes x }
  }
"""


@pytest.mark.parametrize(
    ("change", "target", "codes"),
    [
        (("", ""), "cuda", ["PL853"]),
        (("", ""), "ascend910c", ["PL853"]),
        (("", ""), "cpu", []),
        (("all_to_all", "low_latency"), "ascend910c", []),
        (("rows 4 {", "rows 4 when not normal {"), "ascend910c", ["PL905"]),
        (("on main { reads x", "on main host_sync { reads x"), "cuda", ["PL501"]),
    ],
)
def test_a_graph_holds_no_exchange_that_waits_for_the_host(findings, change, target, codes) -> None:
    """Low latency may stand in one; the normal mode may not, and runs eagerly where the capture does."""
    found = findings(around(GRAPH.replace(*change)), target=target)
    assert [one.code for one in found] == codes


ODD = """\
  group ep
  stream main
  buffer x : f32[4] carried
  buffer a : f32[4]
  buffer b : f32[4]
  phase early on main { reads x  writes a  collective low_latency over ep }
  capture step on main rows 4 {
    phase there on main { reads a  writes b  collective low_latency over ep }
    phase back on main { updates b  collective low_latency over ep }
  }
  phase late on main { reads b  writes x  collective low_latency over ep }
"""


def test_windows_take_turns_through_replays(findings) -> None:
    """Where the host keeps the turn, graphs and what runs between them have even numbers."""
    assert findings(around(ODD), target="cuda") == []
    shorter = ODD.replace("writes x  collective low_latency over ep", "writes x")
    (found,) = findings(around(shorter), target="cuda")
    assert (found.code, dict(found.facts)["phases"]) == ("PL855", "early")
    assert findings(around(shorter), target="ascend910c") == []


def test_an_operation_that_names_no_rows_has_those_it_sends_or_gets_back(findings) -> None:
    """What it receives is longer, and no bound; what no dim sizes may be features."""
    text = around("""\
  group ep
  dim bs in [64, 640]
  pool ll = 2
  stream main
  buffer x : bf16[bs, 7168] carried
  buffer recv : bf16[bs * 8, 7168] in ll
  phase dispatch on main { reads x  writes recv  collective low_latency over ep }
  phase experts on main { reads recv  writes x }
""")
    found = findings(text, target="ascend910c")
    assert [(one.code, one.message) for one in found] == [
        ("PL851", "`dispatch` exchanges 640 rows at bs = 640; ascend910c holds 512")
    ]
    assert findings(text, target="cuda") == []
