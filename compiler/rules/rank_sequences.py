"""Ranks of one communicator whose collectives differ though they agree on all they vote on."""

from __future__ import annotations

from plait.compiler.order import Order
from plait.compiler.ranks.judged import judged
from plait.compiler.ranks.matching import Mismatch
from plait.compiler.ranks.sequences import Exchange, communicator_name
from plait.compiler.round import Phase
from plait.compiler.rules.rule import Rule
from plait.compiler.target import Target
from plait.dsl.diagnostic import Diagnostic, Edit, Fix, Label
from plait.dsl.span import Span

RULE = Rule(
    code="PL453",
    title="ranks of one group have different sequences of collectives",
    why="""\
The n-th collective of a rank on a communicator meets the n-th of every other. Where one rank has
another number of them, another order, kind, size or type, or holds one in a graph and another rank does
not, they wait for each other for ever, or mix up what they send. An idle rank does what the text says
less the phases that are `skip_idle`: a collective is among those only where its ranks are idle all at
once, as those with a dim `same over` their group are. The message shows both ranks side by side.""",
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
    """One finding for every collective at which sequences first differ by no single value."""
    by_span: dict[Span, Diagnostic] = {}
    for one in judged(orders).mismatches:
        if one.cause is None:
            diagnostic = _diagnostic(one)
            by_span.setdefault(diagnostic.span, diagnostic)
    return list(by_span.values())


def _diagnostic(found: Mismatch) -> Diagnostic:
    of = found.communicator
    round = found.one.round
    place, one, other = found.first
    left = _left_out(found)
    exchange = left or one or other
    assert exchange is not None
    labels: tuple[Label, ...] = ()
    name = communicator_name(round, of)
    message = f"number {place + 1} of the collectives of {name} is not the same on all its ranks"
    help, fix = "let every rank have the same collectives, whatever it settles for itself", None
    if left is not None:
        group = round.groups[of[0]].name
        message = f"an idle rank of {group} leaves out `{left.item}`, and others wait for it"
        help = "or say that its ranks are idle at once, with a dim `same over` their group"
        phase = round.items[left.place]
        assert isinstance(phase, Phase)
        labels = (Label(phase.span, "skip_idle"),)
        fix = _without_skip(phase)
    return Diagnostic(
        RULE.code,
        message,
        exchange.span,
        label=f"of {name}",
        labels=labels,
        witness=found.witness(),
        facts=(("group", name), ("item", exchange.item)),
        help=help,
        fix=fix,
    )


def _left_out(found: Mismatch) -> Exchange | None:
    """The first collective that the idle one of the two leaves out."""
    if not found.idle:
        return None
    busy = found.sequences[found.one.idle]
    return next((one for one in busy if one.skipped), None)


def _without_skip(phase: Phase) -> Fix:
    title = f"take `skip_idle` off `{phase.base}`: it runs with no rows there"
    head, _, _ = phase.statement.text.partition("{")
    at = phase.statement.start + head.find(" skip_idle")
    if at < phase.statement.start or "#" in head:
        return Fix(title)
    span = Span(phase.statement.source, at, at + len(" skip_idle"))
    return Fix(title, (Edit(span, ""),))
