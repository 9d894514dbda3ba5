"""A carried buffer whose shape depends on the route."""

from __future__ import annotations

from plait.compiler.order import Order
from plait.compiler.round import Buffer, Round
from plait.compiler.rules.rule import Rule
from plait.dsl.diagnostic import Diagnostic

RULE = Rule(
    code="PL605",
    title="the shape of a carried buffer depends on a run-time param or a guard",
    why="""\
A carried buffer lives on into the next round, which may take another route. A dim may size it: it is
made at the largest bucket, and a row keeps its address in all of them. A run-time param and a guard are
never padded, so what one round leaves would have no place in the next. Give it the shape that holds
every route, or take `carried` off it.""",
    bad="""\
spec 1
pipeline p {
  param steps in [1, 2] = 1
  stream main
  buffer x : i64[4, steps] carried
  phase step on main { updates x }
}
""",
    mended="""\
spec 1
pipeline p {
  param steps in [1, 2] = 1
  stream main
  buffer x : i64[4, 2] carried
  phase step on main { updates x }
}
""",
)


def check(orders: list[Order]) -> list[Diagnostic]:
    first: dict[tuple, tuple[Round, Buffer]] = {}
    found: dict[str, Diagnostic] = {}
    for round in (order.round for order in orders):
        sizes = tuple(round.sizes.items())
        for buffer in (buffer for buffer in round.buffers if buffer.carried):
            other, same = first.setdefault((buffer.name, sizes), (round, buffer))
            if same.shape != buffer.shape and buffer.name not in found:
                found[buffer.name] = _diagnostic(buffer, (other, same), (round, buffer))
    return list(found.values())


def _diagnostic(buffer: Buffer, *routes: tuple[Round, Buffer]) -> Diagnostic:
    shapes = [
        f"{list(one.shape or ())} at {round.where.removeprefix(' at ')}" for round, one in routes
    ]
    return Diagnostic(
        RULE.code,
        f"the carried buffer `{buffer.name}` has another shape on another route",
        buffer.span,
        facts=(("buffer", buffer.name), ("shapes", "; ".join(shapes))),
        help="give it the shape that holds every route, or take `carried` off it",
    )
