"""The waits of a round, accounted for: texts word for word, and counts that agree with what is emitted."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from hypothesis import given, settings

from drawing.rounds import elaborated, round_texts
from plait.cli import main
from plait.compiler.order import order
from plait.compiler.races.conflicts import races
from plait.compiler.races.mend import MENDED, applied, tight
from plait.compiler.round import Edge
from plait.compiler.wiring import account, least, missing

PAGE = """\
waits of p

   13  make waits for take (round r - 1)   (join side into main)
         x: take (round r - 1) reads, make writes
   10  take waits for main_end   (fork side from main)
         x: make writes, take reads

edges that cost none

   11  fork side from make
         take comes after main_end, which covers it

written  3 edges between two streams
emitted  2 waits, 2 records
least    2 waits, 2 records
"""
TEXT = """\
spec 1
pipeline p {
  stream main
  stream side
  buffer x : i64[4]
  buffer y : i64[4]
  buffer z : i64[4]
  phase make on main { writes x }
  phase main_end on main { writes z }
  fork side from main
  fork side from make
  phase take on side { reads x  writes y }
  join side into main
}
"""
HOLLOW = """\
in flight without a hook

   57  layer.routed.dispatch runs whole on a stream of its own, layer.routed.dispatch
         hook and event do nothing on ascend910c: the waits above are all the order it has
   61  layer.routed.combine runs whole on a stream of its own, layer.routed.combine
         hook and event do nothing on ascend910c: the waits above are all the order it has
"""


def test_every_wait_has_its_reason_and_every_other_edge_its_cover(tmp_path, capsys) -> None:
    """One edge is stronger than needed, one is covered by it, and one comes back in the next round."""
    path = tmp_path / "p.spec"
    path.write_text(TEXT)
    assert main(["explain", str(path), "--sync"]) == 0
    assert capsys.readouterr().out == PAGE
    assert main(["explain", str(path), "--sync", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["emitted"] == found["least"] == {"waits": 2, "records": 2}
    assert [wait["needed"][0]["buffer"] for wait in found["waits"]] == ["x", "x"]


def test_a_launch_is_whole_where_hooks_are_hollow(root: Path, capsys) -> None:
    """On Ascend the page says so of each; where a hook receives, and of phases, there is nothing to say."""
    moe = str(root / "examples" / "moe.spec")
    assert main(["explain", moe, "--sync", "--target", "ascend910c"]) == 0
    assert HOLLOW in capsys.readouterr().out
    for words in ([moe, "--target", "cuda"], [f"{moe}@normal", "--target", "ascend910c"]):
        assert main(["explain", *words, "--sync", "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["whole"] == []


@given(round_texts())
@settings(max_examples=150)
def test_the_least_wiring_orders_all_that_meets_and_nothing_can_go(text: str) -> None:
    """Written as edges, what is missing leaves no race; without any one of them there is one."""
    round = elaborated(text)
    bare = replace(round, items=tuple(i for i in round.items if not isinstance(i, Edge)))
    mends = [tight(bare, race) for race in missing(order(bare))]
    assert len(mends) == len(least(order(round)))
    assert not races(order(applied(bare, mends)))
    for place in range(len(mends)):
        assert races(order(applied(bare, mends[:place] + mends[place + 1 :])))


@given(round_texts())
@settings(max_examples=150)
def test_every_edge_is_accounted_for(text: str) -> None:
    """Each wait is kept for something, or nothing needs it; each other edge has what covers it."""
    found = order(elaborated(text))
    made = account(found)
    assert [one.wait for one in made.kept] == list(found.waits)
    assert all(one.pairs or one.structure for one in made.kept)
    assert all(one.item is not None or one.dropped.source is None for one in made.dropped)
    assert MENDED not in {edge.number for edge in made.round.edges}
