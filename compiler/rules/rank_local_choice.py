"""A collective or a vote that follows a value which each rank settles for itself."""

from __future__ import annotations

from plait.compiler.order import Order
from plait.compiler.ranks.groups import smallest_around
from plait.compiler.ranks.judged import judged
from plait.compiler.ranks.matching import Mismatch
from plait.compiler.round import Choice
from plait.compiler.rules.rule import Rule
from plait.compiler.target import Target
from plait.dsl.diagnostic import Diagnostic, Edit, Fix, Label

RULE = Rule(
    code="PL451",
    title="a collective follows a value that ranks do not agree on",
    why="""\
A collective ends when all ranks of its group have come to it. Where a guard, a dim or a run-time param
decides whether there is one, of which sizes, or whether a graph holds it, and each rank settles that
value for itself, one rank waits for what another never does, and the group hangs. Let the ranks vote
(`over GROUP`), or say that they have one value by construction (`same over GROUP`). A dim of a rank's
own is fine where only `all_to_all` and `low_latency` follow it, which need no equal shapes.""",
    bad="""\
spec 1
pipeline p {
  group tp
  guard seeded
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
  group tp
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
        if one.cause is not None and one.cause.group is None:
            by_choice.setdefault(one.cause.name, []).append(one)
    return [_diagnostic(ours) for ours in by_choice.values()]


def _diagnostic(ours: list[Mismatch]) -> Diagnostic:
    first = ours[0]
    choice = first.cause
    assert choice is not None
    groups = first.one.round.groups
    of = list(dict.fromkeys(one.communicator[0] for one in ours))
    names = ", ".join(groups[group].name for group in of)
    _, one, other = first.first
    exchange = one or other
    assert exchange is not None
    right = smallest_around(groups, of)
    return Diagnostic(
        RULE.code,
        f"`{exchange.item}` follows `{choice.name}`, which each rank of {names} settles for itself",
        exchange.span,
        label="ranks that differ wait for each other here",
        labels=(Label(choice.span, "a rank's own"),),
        witness=first.witness(),
        facts=(("decided by", choice.name), ("group", names)),
        help=_help(choice, None if right is None else groups[right].name),
        fix=None if right is None else _vote(choice, groups[right].name, groups[right].span.start),
    )


def _help(choice: Choice, group: str | None) -> str:
    if choice.kind == "param":
        over = group or "a group of all of them"
        return f"make it a dim that the ranks vote on: `dim {choice.name} in [...] over {over}`"
    if group is None:
        return "agree on it over a group that these are `in`"
    return f"or `same over {group}`, where its ranks have one value by construction"


def _vote(choice: Choice, group: str, declared: int) -> Fix | None:
    """The vote written in, where the group stands above it."""
    at = choice.agreement
    if at is None:
        return None
    above = declared < at.start
    sizes = " in [...]" if choice.kind == "dim" else ""
    title = f"let the ranks vote: `{choice.kind} {choice.name}{sizes} over {group}`"
    return Fix(title, (Edit(at, f" over {group}"),) if above else ())
