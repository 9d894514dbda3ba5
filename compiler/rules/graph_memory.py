"""Memory of graphs that a replay overwrites while what is kept there is still in use."""

from __future__ import annotations

from plait.compiler.races.conflicts import Race
from plait.compiler.rules.rule import Rule

RULE = Rule(
    code="PL206",
    title="a replay may overwrite what a graph of its pool has left",
    why="""\
Graphs of one pool share its memory: what one of them keeps, the next replay of any of them overwrites,
and so does its own next replay. Until then it may be read; a replay must come after every such read, and
after every other replay of the pool. Order the replay behind the read, read a copy, or declare the buffer
`static` or `carried`, which places it outside the pool.""",
    bad="""\
spec 1
pipeline p {
  stream main
  stream side
  pool graphs
  buffer x : i64[4] carried
  buffer probs : f32[4]
  buffer seen : f32[4] carried
  capture draft on main rows 4 in graphs {
    phase guess on main { reads x  writes probs }
  }
  fork side from draft
  phase look on side { reads probs  writes seen }
  capture verify on main rows 4 in graphs {
    phase target on main { updates x }
  }
  join side into main
}
""",
    mended="""\
spec 1
pipeline p {
  stream main
  stream side
  pool graphs
  buffer x : i64[4] carried
  buffer probs : f32[4] static
  buffer seen : f32[4] carried
  capture draft on main rows 4 in graphs {
    phase guess on main { reads x  writes probs }
  }
  fork side from draft
  phase look on side { reads probs  writes seen }
  capture verify on main rows 4 in graphs {
    phase target on main { updates x }
  }
  join side into main
}
""",
)


def message(race: Race, one: str, other: str, ago: str) -> str:
    """The earlier first."""
    if race.earlier.access.writes:
        return f"{other} may overwrite {race.words} while {one}{ago} still does"
    kept = race.earlier.access.argument
    return f"{other} may overwrite `{kept}` in {race.words} while {one}{ago} still reads it"


HELP = "or declare what is kept `static`, which places it outside the pool"
