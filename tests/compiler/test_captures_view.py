"""The graphs of a round as a page."""

from __future__ import annotations

from plait.compiler.compile import Asked, prove
from plait.compiler.graphs.captures import captures, captures_text
from plait.dsl.span import Source

ROUND = """\
spec 1
pipeline p {
  dim bs in [1, 2]
  pool graphs
  stream main
  stream side
  buffer x    : i64[bs] carried
  buffer ids  : i32[bs]
  buffer out  : i64[bs]
  buffer seen : i64[bs] on host copies 2
  phase make on main { writes ids }
  capture g on main rows bs in graphs {
    fork side from main
    phase beside on side { reads ids  writes out }
    phase step on main { reads ids  updates x }
    join side into main
  }
  phase give on main { reads out  writes seen }
  join prev give into host
  phase take on host { reads prev seen }
}
"""


def test_every_graph_is_shown_with_what_it_holds_and_copies() -> None:
    """Inputs by how they get in, outputs by how long they must stay, bytes for every bucket."""
    proven = prove(Source("p.spec", ROUND), Asked())
    found = captures(proven.orders, proven.target)
    assert (
        captures_text(found)
        == """\
graphs of p

   12  g on main, in the pool graphs: beside, step
       side streams: side
       static: x
       copied in: ids
       kept in the pool: out (until give)
       at bs = 1: rows 1, 4 bytes copied in a replay
       at bs = 2: rows 2, 8 bytes copied in a replay

in no graph

   11  make on main: a graph may hold it
   18  give on main: a graph may hold it
   20  take on host: it runs on the host
"""
    )
