"""A raw launch that goes around what a round of another route left in the queue."""

from __future__ import annotations

from plait.compiler.order import Order
from plait.compiler.races.conflicts import Touch
from plait.compiler.round import Round, prev
from plait.compiler.rules.rule import Rule
from plait.compiler.rules.switch import parts_of, races
from plait.compiler.target import Target
from plait.dsl.diagnostic import Diagnostic, Fix, Label

RULE = Rule(
    code="PL408",
    title="a raw launch may overtake what another route left in the queue",
    why="""\
A phase marked `raw` goes to the device around the queue of the framework, and comes after only what the
host knows to be over. What the round before has queued on another route may still be there, though each
route by itself, repeated, has the host wait for it. Let the host wait on every route, or issue the phase
through the framework and leave out `raw`.""",
    bad="""\
spec 1
pipeline p {
  guard fast
  stream main
  buffer x : i64[4] carried
  when fast {
    phase jump on main raw { updates x }
  } else {
    phase step on main { updates x }
  }
}
""",
    mended="""\
spec 1
pipeline p {
  guard fast
  stream main
  buffer x : i64[4] carried
  when fast {
    join prev step into host
    phase jump on main raw { updates x }
  } else {
    phase step on main { updates x }
  }
}
""",
    target="ascend910c",
)


def check(orders: list[Order], target: Target) -> list[Diagnostic]:
    """One finding for every raw phase and what it may overtake."""
    if not target.streams.queued:
        return []
    parts = parts_of(orders, at_issue=_around)
    found: dict[tuple, Diagnostic] = {}
    for first in parts:
        for name, earlier, later, last, way in races(first, parts):
            one = earlier.phase
            same = _around(earlier) and one.stream == later.phase.stream
            key = (one.span, later.phase.span)
            if _around(later) and not same and key not in found:
                routes = [part.round for part in (first, *way, last)]
                found[key] = _diagnostic(routes, earlier, later, name, target)
    return list(found.values())


def _around(touch: Touch) -> bool:
    """Whether it goes around the queue."""
    return "raw" in touch.phase.attributes and touch.phase.capture is None


def _diagnostic(
    routes: list[Round], earlier: Touch, later: Touch, buffer: str, target: Target
) -> Diagnostic:
    one, other = earlier.phase, later.phase
    edge = f"join {prev(len(routes) - 1)}{routes[0].outside(one)} into host"
    return Diagnostic(
        RULE.code,
        f"`{other.name}` goes around the queue of {target.name}, and may overtake `{one.name}` when the"
        " route changes",
        later.access.span,
        label=f"{later.access.kind} {buffer}",
        labels=(Label(earlier.access.span, f"{earlier.access.kind} {buffer}"),),
        facts=(
            ("buffer", buffer),
            ("phases", f"{one.name}, {other.name}"),
            ("routes", "; then ".join(round.answers for round in routes)),
            ("target", target.name),
        ),
        help="or issue it through the framework and leave out `raw`",
        fix=Fix(f"before line {other.statement.line}, write: {edge}"),
    )
