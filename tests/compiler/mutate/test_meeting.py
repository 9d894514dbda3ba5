"""Two ranks with all that each may choose: what they exchange, and whether they come to an end."""

from __future__ import annotations

import pytest

from drawing.rounds import routes
from plait.compiler.mutate.meeting import unmatched

VOTE = """\
spec 1
pipeline p {
  group tp
  group attn in tp
  dim bs in [4] same over tp
  guard ready OVER
  stream main
  buffer x : i64[4] carried
  when ready { phase next on main { updates x  collective all_reduce over GROUP } }
}
"""


@pytest.mark.parametrize(
    ("over", "group", "said"),
    [
        ("over tp", "tp", []),
        ("over tp", "attn", []),
        ("over attn", "attn", []),
        ("over attn", "tp", ["two ranks of tp"]),
        ("", "attn", ["two ranks of attn"]),
    ],
)
def test_ranks_meet_where_they_agree(over: str, group: str, said: list[str]) -> None:
    """Over a group that holds the collective's: the ranks of an inner one are ranks of the outer one."""
    text = VOTE.replace("OVER", over).replace("GROUP", group)
    found = [str(one).partition(",")[0] for one in unmatched(routes(text))]
    assert found == said


def test_ranks_that_exchange_in_turned_order_wait_for_each_other() -> None:
    """Each communicator carries the same on both, and the host waits in between."""
    text = """\
spec 1
pipeline p {
  group tp
  group dp
  guard first
  stream s
  stream t
  when first {
    phase a on s { collective all_to_all over tp }
    WAIT
    phase b on t { collective all_to_all over dp }
  } else {
    phase b on t { collective all_to_all over dp }
    phase a on s { collective all_to_all over tp }
  }
}
"""
    assert list(unmatched(routes(text.replace("WAIT", "")))) == []
    assert list(unmatched(routes(text.replace("WAIT", "join s into host")))) == []
    both = text.replace("WAIT", "join s into t").replace(
        "phase a on s { c", "join t into s phase a on s { c"
    )
    (found,) = unmatched(routes(both))
    assert str(found) == "two ranks of tp, first = true and first = false, wait for each other"
