"""A collective that idle ranks leave out while others of their group wait in it."""

from __future__ import annotations

from plait.compiler.order import Order
from plait.compiler.ranks.judged import judged
from plait.compiler.ranks.matching import Mismatch
from plait.compiler.ranks.sequences import sequence
from plait.compiler.round import Phase
from plait.compiler.rules.rule import Rule
from plait.compiler.target import Target
from plait.dsl.diagnostic import Diagnostic, Edit, Fix, Label
from plait.dsl.span import Span

RULE = Rule(
    code="PL453",
    title="an idle rank leaves out a collective of its group",
    why="""\
The n-th collective of a rank meets the n-th of every other rank of its group, busy or not. An idle rank
does what the text says, with no rows, less the phases that are `skip_idle`: where one of those is a
collective, the busy ranks wait in it for ever, or meet the idle one's next. So a collective may be skipped
only where all ranks of its group are idle at once, as those with a dim `same over` their group are, or those
of a group that lies across the one that votes on their sizes.""",
    bad="""\
spec 1
pipeline p {
  group dp
  dim bs in [1, 2] over dp
  stream main
  buffer x : i64[bs] carried
  phase reduce on main skip_idle { updates x  collective all_reduce over dp }
}
""",
    mended="""\
spec 1
pipeline p {
  group dp
  dim bs in [1, 2] over dp
  stream main
  buffer x : i64[bs] carried
  phase reduce on main { updates x  collective all_reduce over dp }
}
""",
)


def check(orders: list[Order], target: Target) -> list[Diagnostic]:
    """One finding for every collective that is the first to be left out of a communicator."""
    found = (_diagnostic(one) for one in judged(orders).mismatches if one.idle)
    return list({diagnostic.span: diagnostic for diagnostic in found}.values())


def _diagnostic(found: Mismatch) -> Diagnostic:
    round, of = found.busy.round, found.communicator
    left = next(one for one in sequence(round, of, idle=False) if one.skipped)
    phase = round.items[left.place]
    assert isinstance(phase, Phase)
    group = round.groups[of[0]].name
    return Diagnostic(
        RULE.code,
        f"an idle rank of {group} leaves out `{left.item}`, and others wait for it",
        left.span,
        label=f"of {group}",
        labels=(Label(phase.span, "skip_idle"),),
        witness=found.witness(),
        facts=(("group", group), ("item", left.item)),
        help="or say that its ranks are idle at once, with a dim `same over` their group",
        fix=_without_skip(phase),
    )


def _without_skip(phase: Phase) -> Fix:
    title = f"take `skip_idle` off `{phase.base}`: it runs with no rows there"
    head, _, _ = phase.statement.text.partition("{")
    at = phase.statement.start + head.find(" skip_idle")
    if at < phase.statement.start or "#" in head:
        return Fix(title)
    span = Span(phase.statement.source, at, at + len(" skip_idle"))
    return Fix(title, (Edit(span, ""),))
