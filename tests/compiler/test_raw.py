"""What a raw launch may overtake, on a target whose framework queues."""

from __future__ import annotations

TWO = """\
spec 1
pipeline p {
  dim bs in [1, 2]
  stream main
  stream side
  buffer a : i64[4] carried
  buffer b : i64[4] carried
  phase first on main { updates a }
  fork side from main
  phase second on side { updates b }
  join side into main
  phase third on main raw { updates a, b }
}
"""


def test_neither_its_stream_nor_a_join_holds_a_raw_launch_back(findings) -> None:
    """Said once over the buckets, with the newest work of each queue, and the mend is right."""
    (found,) = findings(TWO, target="ascend910c", small=True)
    assert found.code == "PL407"
    assert found.message == (
        "`third` goes around the queue of ascend910c, and may overtake `first`, `second`"
    )
    assert (
        found.fix.title == "before line 12, write: join first into host and join second into host"
    )
    mended = TWO.replace(
        "  phase third", "  join first into host\n  join second into host\n  phase third"
    )
    (note,) = findings(mended, target="ascend910c", small=True)
    assert note.message == "no data needs `join side into main`"


def test_without_a_queue_a_stream_is_order_enough(findings) -> None:
    """The same text is right where launches go straight to their stream."""
    assert findings(TWO, target="cuda", small=True) == []


def test_raw_launches_of_one_stream_keep_their_order(findings) -> None:
    """Both go around the queue, this round and the last, so neither overtakes the other."""
    text = """\
spec 1
pipeline p {
  stream main
  buffer a : i64[4] carried
  phase first on main raw { updates a }
  phase second on main raw { updates a }
}
"""
    assert findings(text, target="ascend910c") == []


def test_what_the_host_knows_of_the_round_before_is_over(findings) -> None:
    """A wait of the host for the last round's reader is enough, and it is no waste there."""
    text = """\
spec 1
pipeline p {
  stream main
  buffer a : i64[4] carried
  buffer b : i64[4] carried
  phase first on main raw { updates a }
  capture g on main rows 4 { phase look on main { reads a  updates b } }
}
"""
    (found,) = findings(text, target="ascend910c")
    assert found.fix.title == "before line 6, write: join prev g into host"
    mended = text.replace("  phase first", "  join prev g into host\n  phase first")
    assert findings(mended, target="ascend910c") == []
