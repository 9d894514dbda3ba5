"""One communicator that two streams use without an order."""

from __future__ import annotations

from plait.compiler.races.conflicts import Race
from plait.compiler.rules.rule import Rule

RULE = Rule(
    code="PL205",
    title="one communicator is used from two streams without an order",
    why="""\
A group has one communicator and one exchange window, and every collective over the group changes their
state. Two collectives that nothing orders, in eager phases, in replays or in rounds that follow each
other, may start in one order on one rank and in the other order on the next: the ranks wait for each
other for ever, or one exchange overwrites the window that another still fills. Write the edge, keep all
collectives of the group on one stream, or give one of the two a group of its own.""",
    bad="""\
spec 1
pipeline p {
  group tp
  stream main
  stream side
  buffer x : f32[4] carried
  buffer y : f32[4] carried
  buffer z : f32[4] carried
  phase sum_x on main { updates x  collective all_reduce over tp }
  phase sum_y on side { updates y  collective all_reduce over tp }
  phase beside on main { updates z }
  join side into main
}
""",
    mended="""\
spec 1
pipeline p {
  group tp
  stream main
  stream side
  buffer x : f32[4] carried
  buffer y : f32[4] carried
  buffer z : f32[4] carried
  phase sum_x on main { updates x  collective all_reduce over tp }
  fork side from sum_x
  phase sum_y on side { updates y  collective all_reduce over tp }
  phase beside on main { updates z }
  join side into main
}
""",
)


def message(race: Race, one: str, other: str, ago: str) -> str:
    """The earlier first."""
    return f"{other} may use {race.words} while {one}{ago} still does"


HELP = "or give one of the two a group of its own"
