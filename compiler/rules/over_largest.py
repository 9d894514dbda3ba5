"""More rows than the largest bucket of another dim holds."""

from __future__ import annotations

from plait.compiler.order import Order
from plait.compiler.round import Round
from plait.compiler.rows.extent import Extent
from plait.compiler.rows.widths import widths
from plait.compiler.rules.rule import Rule
from plait.compiler.target import Target
from plait.dsl.diagnostic import Diagnostic, Label
from plait.dsl.span import Span

RULE = Rule(
    code="PL607",
    title="a phase works on more rows than the largest bucket holds",
    why="""\
What one dim allows may be more than another has a bucket for: as many requests as are admitted, each
with its draft tokens, or one token more for every request. The last bucket is full then, and a round
of that size runs over its buffers or falls back to eager, whatever the list was meant to cover. Add an
entry that holds it, or admit less.""",
    bad="""\
spec 1
pipeline p {
  dim bs in [16, 32]
  dim tokens in [256, 512]
  stream main
  buffer tree   : i64[bs, 17] carried
  buffer packed : i64[tokens]
  capture verify on main rows tokens {
    phase pack on main { reads tree  writes packed  rows bs * 17 }
  }
}
""",
    mended="""\
spec 1
pipeline p {
  dim bs in [16, 32]
  dim tokens in [256, 544]
  stream main
  buffer tree   : i64[bs, 17] carried
  buffer packed : i64[tokens]
  capture verify on main rows tokens {
    phase pack on main { reads tree  writes packed  rows bs * 17 }
  }
}
""",
)


def check(round: Round, order: Order, target: Target) -> list[Diagnostic]:
    found = []
    for phase in round.phases:
        if phase.extent is None or phase.rows is None or phase.rows_span is None:
            continue
        rows, mine = phase.rows, phase.extent
        what = f"`{phase.name}` works on {rows} rows{round.where}"
        graph = None if phase.capture is None else round.captures[phase.capture]
        if graph and _over(rows, mine, graph.rows, graph.extent):
            assert graph.extent is not None and graph.rows_span is not None
            message = f"{what}, and its graph `{graph.name}` holds {graph.rows} at most"
            found.append(_found(message, phase.rows_span, mine, graph.extent, graph.rows_span))
            continue
        touched = widths(round, [phase])
        if not touched or any(rows in one.counts for one in touched):
            continue
        if all(_over(rows, mine, one.most, one.rows) for one in touched):
            widest = max(touched, key=lambda one: one.most)
            message = f"{what}, and `{widest.buffer.name}` has {widest.most} at most"
            span = widest.access.span
            found.append(_found(message, phase.rows_span, mine, widest.rows, span))
    return found


def _over(rows: int, mine: Extent, size: int, other: Extent | None) -> bool:
    """Whether rows of some dims are more than a size of others, at the largest of those."""
    return other is not None and mine.dims != other.dims and other.last and rows > size


def _found(message: str, span: Span, mine: Extent, other: Extent, place: Span) -> Diagnostic:
    dims = " and ".join(f"`{dim}`" for dim in sorted(other.dims))
    label = Label(place, f"{other.text}, at the largest entry of {dims}")
    facts = (("rows", mine.text), ("at most", other.text))
    help = f"list a larger entry for {dims}, or a smaller one last for the others"
    return Diagnostic(RULE.code, message, span, labels=(label,), facts=facts, help=help)
