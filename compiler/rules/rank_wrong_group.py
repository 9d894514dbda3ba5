"""A value agreed over a group that leaves out ranks of the collective that follows it."""

from __future__ import annotations

from plait.compiler.order import Order
from plait.compiler.ranks.groups import alone, smallest_around
from plait.compiler.ranks.judged import judged
from plait.compiler.ranks.matching import Mismatch
from plait.compiler.rules.rule import Rule
from plait.compiler.target import Target
from plait.dsl.diagnostic import Diagnostic, Edit, Fix, Label

RULE = Rule(
    code="PL452",
    title="ranks agree over a group that does not contain the collective's",
    why="""\
A vote makes the ranks that take part in it equal, and no others. A collective of a larger group that
follows it still meets ranks which decided otherwise, and hangs; over a group of one rank the vote
decides nothing at all. Agree over the group of the collective, or over one that contains it: which
groups are inside which is known from `group NAME in OUTER`.""",
    bad="""\
spec 1
pipeline p {
  group tp = 8
  group attn_tp = 1 in tp
  guard seeded over attn_tp
  stream main
  buffer x : i64[4] carried
  capture draft on main rows 4 when seeded {
    phase next on main { updates x  collective all_reduce over tp }
  }
}
""",
    mended="""\
spec 1
pipeline p {
  group tp = 8
  group attn_tp = 1 in tp
  guard seeded over tp
  stream main
  buffer x : i64[4] carried
  capture draft on main rows 4 when seeded {
    phase next on main { updates x  collective all_reduce over tp }
  }
}
""",
)


def check(orders: list[Order], target: Target) -> list[Diagnostic]:
    """One finding for every value, with all communicators that follow it."""
    by_choice: dict[str, list[Mismatch]] = {}
    for one in judged(orders).mismatches:
        if one.cause is not None and one.cause.group is not None:
            by_choice.setdefault(one.cause.name, []).append(one)
    return [_diagnostic(ours) for ours in by_choice.values()]


def _diagnostic(ours: list[Mismatch]) -> Diagnostic:
    first = ours[0]
    choice = first.cause
    assert choice is not None and choice.group is not None and choice.agreement is not None
    groups = first.one.round.groups
    of = list(dict.fromkeys(one.communicator[0] for one in ours))
    names = ", ".join(groups[group].name for group in of)
    agreed = groups[choice.group].name
    _, one, other = first.first
    exchange = one or other
    assert exchange is not None
    only = ", a group of one rank," if alone(groups, choice.group) else ""
    right = smallest_around(groups, of)
    fix = None
    if right is not None:
        above = groups[right].span.start < choice.agreement.start
        edits = (Edit(choice.agreement, groups[right].name),) if above else ()
        fix = Fix(f"agree over {groups[right].name} in place of {agreed}", edits)
    return Diagnostic(
        RULE.code,
        f"`{choice.name}` is agreed over {agreed}{only} and `{exchange.item}` is between all of {names}",
        choice.agreement,
        label=f"not known to contain {names}",
        labels=(Label(exchange.span, f"follows {choice.name}"),),
        witness=first.witness(),
        facts=(("decided by", choice.name), ("agreed over", agreed), ("group", names)),
        help="" if fix else "agree over a group that all of these are `in`",
        fix=fix,
    )
