"""A ring of communicators for which no few ranks are known that hang in it."""

from __future__ import annotations

from plait.compiler.order import Order
from plait.compiler.ranks.judged import judged
from plait.compiler.rules import rank_ring
from plait.compiler.rules.rule import Rule
from plait.compiler.target import Target
from plait.dsl.diagnostic import Diagnostic

RULE = Rule(
    code="PL459",
    title="ranks of several groups may wait for each other in a ring",
    why="""\
The orders that ranks may have go round in a ring over several communicators, as in PL454, but ranks that
share all of these groups never have all of the orders at once. Ranks that share only some of them may;
that is a matter of how the groups cross each other, which the text does not say. Keep one order of all
collectives on every rank, or silence this with an `# allow` where the layout of the ranks rules it out.""",
    bad="""\
spec 1
pipeline p {
  group a
  group b
  group c
  guard first over a
  guard second
  stream s
  stream t
  buffer u : i64[4] carried
  buffer v : i64[4] carried
  buffer w : i64[4] carried
  fork t from s
  when first and second {
    phase x on s { updates u  collective all_to_all over a }
    phase y on s { updates v  collective all_to_all over b }
    phase z on t { updates w  collective all_to_all over c }
  }
  when first and not second {
    phase z on s { updates w  collective all_to_all over c }
    phase x on s { updates u  collective all_to_all over a }
    phase y on t { updates v  collective all_to_all over b }
  }
  when not first {
    phase y on s { updates v  collective all_to_all over b }
    phase z on s { updates w  collective all_to_all over c }
    phase x on t { updates u  collective all_to_all over a }
  }
  join t into s
}
""",
    mended="""\
spec 1
pipeline p {
  group a
  group b
  group c
  stream s
  buffer u : i64[4] carried
  buffer v : i64[4] carried
  buffer w : i64[4] carried
  phase x on s { updates u  collective all_to_all over a }
  phase y on s { updates v  collective all_to_all over b }
  phase z on s { updates w  collective all_to_all over c }
}
""",
)


def check(orders: list[Order], target: Target) -> list[Diagnostic]:
    """The shortest such ring, once all ranks have the same sequences."""
    ranks = judged(orders)
    if ranks.ring is None or ranks.ring.meets:
        return []
    assert ranks.behaviours is not None
    return [rank_ring.diagnostic(ranks.behaviours, ranks.ring, RULE.code)]
