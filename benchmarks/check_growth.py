"""The check of a round of 10,000 phases against that of one of 1,000: at most 13 times it is the aim."""

from __future__ import annotations

from collections.abc import Iterator

from plait.bench.paired import Pair, paired, timed
from plait.compiler.compile import Asked, prove_all
from plait.dsl.span import Source

ROUND = """\
spec 1
pipeline long {
  dim bs in [4]
  stream main
  stream side
  buffer x : i64[bs] carried
  buffer y : i64[bs]
  buffer z : i64[bs]
  for i in 1 .. COUNT {
    phase make[i] on main { updates x  writes y }
    fork side from make[i]
    phase take[i] on side { reads y  writes z }
    phase go_on[i] on main { updates x }
    join take[i] into main
    phase end[i] on main { reads z }
  }
}
"""


def long(phases: int) -> Source:
    """A spec without calls, of so many phases."""
    return Source("long.spec", ROUND.replace("COUNT", str(phases // 4)))


def run(turns: int = 5) -> Iterator[Pair]:
    def checked(phases: int) -> float:
        source = long(phases)
        return timed(lambda: prove_all(source, Asked(environment={})))

    checked(1_000)
    yield paired(
        "check of 10,000 phases / of 1,000",
        lambda: checked(10_000),
        lambda: checked(1_000),
        turns,
        most=13,
    )
