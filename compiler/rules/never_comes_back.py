"""A branch that is forked and that nothing ever waits for."""

from __future__ import annotations

from plait.compiler.order import Order
from plait.compiler.round import HOST, Edge, Round
from plait.compiler.rules.rule import Rule
from plait.dsl.diagnostic import Diagnostic

RULE = Rule(
    code="PL401",
    title="a branch never comes back",
    why="""\
Every branch must come back: after the last phase that a forked stream is issued in a round, some
other stream, or the host, must wait for it, in this round or a later one. Otherwise nothing in the
round ever knows that the work has ended: its results cannot be used safely, the next rounds pile up
behind it, and a failure in it is never seen. Add the `join`.""",
    bad="""\
spec 1
pipeline p {
  stream main
  stream side
  buffer x : i64[4]
  buffer y : i64[4]
  phase make on main { writes x }
  fork side from make
  phase look on side { reads x  writes y }
}
""",
    mended="""\
spec 1
pipeline p {
  stream main
  stream side
  buffer x : i64[4]
  buffer y : i64[4]
  phase make on main { writes x }
  fork side from make
  phase look on side { reads x  writes y }
  join side into main
}
""",
)


def check(round: Round, found: Order) -> list[Diagnostic]:
    diagnostics = []
    forks: dict[int, Edge] = {}
    for edge in round.edges:
        if edge.word == "fork" and edge.target not in (HOST, round.origin(edge.source)):
            forks[edge.target] = edge  # the last one: what it starts ends last
    for stream, fork in forks.items():
        first_round = [moment for moment in found.queues[stream] if moment.round == 0]
        if not first_round or _awaited(found, stream, first_round[-1].index):
            continue
        last = round.item_name(first_round[-1].item)
        name = round.stream_name(stream)
        diagnostics.append(
            Diagnostic(
                RULE.code,
                f"{name} is forked here and never comes back: nothing waits for `{last}`",
                fork.span,
                facts=(("stream", name), ("last phase", last)),
                help=f"add `join {name} into STREAM` where the branch is needed, "
                f"or `join prev {last} into host`",
            )
        )
    return diagnostics


def _awaited(found: Order, stream: int, index: int) -> bool:
    """Whether anything on another queue surely comes after that entry of the stream."""
    return any(
        queue[-1].known[stream] >= index
        for coordinate, queue in enumerate(found.queues)
        if coordinate != stream and queue
    )
