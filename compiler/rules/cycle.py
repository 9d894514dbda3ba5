"""Work that waits for itself: a graph for a rebind, and the rebind for the graph."""

from __future__ import annotations

from plait.compiler.order import Order
from plait.compiler.races.causes import Cause, Step, causes, circle
from plait.compiler.round import Close, Edge, Open, Round
from plait.compiler.rules.rule import Rule
from plait.compiler.target import Target
from plait.dsl.diagnostic import Diagnostic, Label

RULE = Rule(
    code="PL405",
    title="work waits for itself",
    why="""\
A graph may wait for a rebind that is issued further down. The rebind must then be free to run while the
graph does: where it comes after the end of that replay, by its stream, by an edge or because the host
waits first, each waits for the other and the round never ends. The message shows the circle. Issue the
rebind above the capture, or let it come after the replay of the round before: `prev`.""",
    bad="""\
spec 1
pipeline p {
  stream main
  stream upd : update
  buffer lens : i64[4] task
  buffer x : i64[4] carried
  capture g on main rows 4 {
    join rebind into main
    phase attention on main { reads lens  updates x }
  }
  fork upd from g
  phase rebind on upd { writes lens }
}
""",
    mended="""\
spec 1
pipeline p {
  stream main
  stream upd : update
  buffer lens : i64[4] task
  buffer x : i64[4] carried
  capture g on main rows 4 {
    join rebind into main
    phase attention on main { reads lens  updates x }
  }
  fork upd from prev g
  phase rebind on upd { writes lens }
}
""",
    target="ascend910c",
)


def check(round: Round, found: Order, target: Target) -> list[Diagnostic]:
    steps = circle(causes(round))
    if not steps:
        return []
    ahead = set(round.waits_ahead)
    first = next(place for place, (cause, _) in enumerate(steps) if cause.edge in ahead)
    steps = steps[first:] + steps[:first]
    edges = [place for cause, _ in steps if (place := cause.edge) is not None]
    wait, *others = (edge for place in edges if isinstance(edge := round.items[place], Edge))
    rebind = round.source_name(wait.source)
    return [
        Diagnostic(
            RULE.code,
            f"`{round.edge_text(wait)}` waits for `{rebind}`, which waits for it",
            wait.span,
            labels=tuple(Label(edge.span, "part of the circle") for edge in others),
            witness=tuple(_told(round, cause, step) for cause, step in steps),
            facts=(("phase", rebind), ("circle", ", ".join(_names(round, steps)))),
            help=f"issue `{rebind}` above the capture, or let it wait for `prev` of what it follows",
        )
    ]


def _names(round: Round, steps: list[tuple[Cause, Step]]) -> list[str]:
    return list(dict.fromkeys(_name(round, step) for _, step in steps))


def _name(round: Round, step: Step) -> str:
    return round.item_name(step.item)


def _told(round: Round, cause: Cause, step: Step) -> str:
    """Why a step does not begin before its cause is over, in a line."""
    one, other = f"`{_name(round, step)}`", f"`{_name(round, cause.step)}`"
    if cause.edge is not None:
        edge = round.items[cause.edge]
        assert isinstance(edge, Edge)
        return f"{one} waits for {other} (line {edge.span.line})"
    if step.issue:
        return f"the host comes to {one} after {other}"
    if cause.step.issue:
        return f"{one} runs once the host has issued it"
    item = round.items[step.item]
    if isinstance(item, Close):
        return f"{one} ends after {other}"
    if isinstance(round.items[cause.step.item], Open) and not isinstance(item, Open):
        return f"{one} begins after {other}"
    return f"{one} follows {other} on its stream"
