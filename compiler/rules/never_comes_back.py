"""A branch that is forked and that nothing ever waits for."""

from __future__ import annotations

from plait.compiler.order import Order
from plait.compiler.round import HOST, Close, Edge, Open, Phase, Round
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
    """A stream goes on in order, so whatever leaves it, in this round or the next, waits for all of it."""
    forks: dict[tuple[int | None, int], Edge] = {}
    left: set[tuple[int | None, int]] = set()
    issued = {
        (item.capture, item.stream): item.name for item in round.items if isinstance(item, Phase)
    }
    inside = None
    for item in round.items:
        if isinstance(item, Open):
            inside = item.capture
        elif isinstance(item, Close):
            inside = None
        elif isinstance(item, Edge):
            origin = round.origin(item.source)
            if item.target != origin:
                graph = inside
                if item.source.kind == "phase":
                    graph = round.phases[item.source.number].capture
                left.add((graph, origin))
                if item.word == "fork" and item.target != HOST:
                    forks[inside, item.target] = item  # the last one: what it starts ends last
    return [
        _diagnostic(round, branch, fork, issued[branch])
        for branch, fork in forks.items()
        if branch in issued and branch not in left
    ]


def _diagnostic(round: Round, branch: tuple[int | None, int], fork: Edge, last: str) -> Diagnostic:
    capture, stream = branch
    name = round.stream_name(stream)
    help = f"add `join {name} into STREAM` where the branch is needed, "
    if capture is None:
        help += f"or `join prev {last} into host`"
    else:
        help += f"before the brace of `{round.captures[capture].name}`"
    return Diagnostic(
        RULE.code,
        f"{name} is forked here and never comes back: nothing waits for `{last}`",
        fork.span,
        facts=(("stream", name), ("last phase", last)),
        help=help,
    )
