"""Texts to colour: one that has every construct of the language, and any that could be typed."""

from __future__ import annotations

from hypothesis import strategies as st

from plait.dsl.words import RESERVED

WHOLE_LANGUAGE = """\
spec 1
use "parts/attention.spec" as parts
use deepep

module expert(stream main, stream comm, buffer x, n, limit = 128) {
  buffer sent : bf16[n, 64] in slots
  pool kept
  launch send on comm raw { reads x  writes sent  collective low_latency over ep capacity limit }
  await send on main
  phase merge on main across_rows { reads sent  updates x  cost 35us + 4MiB / 2 }
  yield
}

pipeline whole {
  param steps in [1, 2] = 2
  param wide = -1 < 0 and not false or true   # an operator of each sort
  flag plan = env("WHOLE_PLAN", true)
  require steps >= 1, "at least one"
  group world = 16
  group ep = 8 in world
  dim bs in [1, 2, 4] over ep
  dim tokens in [8, 9] same over ep
  guard ready over ep if len([1]) == 1 else max(1, ceil_div(bs, 2)) != min(1, 2)
  pool slots = 2
  stream main
  stream comm : comm
  stream side if plan else main
  stream other = side if bs % 2 == 0 else comm
  buffer x : f32[bs, 64] carried static pad 0
  buffer host_x : f32[bs, 64] on host copies 2
  buffer plans : opaque on pinned task
  buffer spare : u8[bs // 1] scratch

  assume disjoint x[0, _], x[1, _], "slots of two requests"
  fork side from prev 1 merge
  phase plan_it[0] on side host_sync skip_idle { reads prev 1 x[_, 0 .. 3] as old  writes plans  rows bs }
  join side into main
  capture graph on main rows bs * steps in slots when ready {
    for i in 0 .. steps - 1 {
      when i <= 1 { call expert ( n = bs ) as experts[i] } else {
        phase skip[i] on main { when plan { updates x } }
      }
    }
  }
  join graph.loaded into host
  interleave by 2 { call parts.half ( n = 1 ) as a  call parts.half ( n = 2 ) as b }
}

variant small of whole { set steps = 1 }
"""

PIECES = [
    *(f"{word} " for word in sorted(RESERVED)),
    *("name", "x", "host", "_", "carried ", "raw ", "i64", "copy", "low_latency", ".live", "env"),
    *("[", "]", "{", "}", "(", ")", ",", ":", ".", "..", " .. ", "=", "==", "!", "//", "-", "%"),
    *("1", "3.5", "35us", "4MiB", '"', '"text"', "# comment\n", "#", " ", "\n", "\t", "\r\n", "é"),
]


def texts() -> st.SearchStrategy[str]:
    """Texts of pieces of the language, and texts of anything."""
    pieces = st.lists(st.sampled_from(PIECES), max_size=40).map("".join)
    return st.one_of(pieces, st.text(max_size=40))
