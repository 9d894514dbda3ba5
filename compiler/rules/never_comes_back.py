"""A branch that is forked and that nothing ever waits for."""

from __future__ import annotations

from plait.compiler.order import Order
from plait.compiler.races.block import end_of_block
from plait.compiler.round import HOST, Edge, Phase, Round
from plait.compiler.rules.rule import Rule
from plait.dsl.diagnostic import Diagnostic, Edit, Fix
from plait.dsl.span import Span

RULE = Rule(
    code="PL401",
    title="a branch never comes back",
    why="""\
Every branch must come back: after the last phase that a forked stream is issued in a round, some
other stream, or the host, must wait for it, in this round or a later one. Otherwise nothing in the
round ever knows that the work has ended: its results cannot be used safely, the next rounds pile up
behind it, and a failure in it is never seen. A capture ends in its own braces: what a side stream is
issued there after its last join is left behind, and no device ends such a capture. Add the `join`.""",
    bad="""\
spec 1
pipeline p {
  stream main
  stream side
  buffer x : i64[4]
  buffer y : i64[4]
  buffer z : i64[4]
  phase make on main { writes x }
  fork side from make
  phase look on side { reads x  writes y }
  phase beside on main { reads x  writes z }
}
""",
    mended="""\
spec 1
pipeline p {
  stream main
  stream side
  buffer x : i64[4]
  buffer y : i64[4]
  buffer z : i64[4]
  phase make on main { writes x }
  fork side from make
  phase look on side { reads x  writes y }
  phase beside on main { reads x  writes z }
  join side into main
}
""",
)


def check(round: Round, found: Order) -> list[Diagnostic]:
    """A stream goes on in order, so whatever leaves it, in this round or the next, waits for all of it."""
    forks: dict[tuple[int | None, int], Edge] = {}
    last: dict[tuple[int | None, int], str] = {}
    for item in round.items:
        if isinstance(item, Phase):
            last[item.capture, item.stream] = item.name
        elif isinstance(item, Edge) and item.word == "fork" and _branches_off(round, item):
            forks[item.capture, item.target] = item  # the last one: what it starts ends last
    left = _left(found.round)
    return [
        _diagnostic(round, branch, fork, last[branch])
        for branch, fork in forks.items()
        if branch in last and branch not in left
    ]


def _branches_off(round: Round, edge: Edge) -> bool:
    return edge.target not in (HOST, round.origin(edge.source))


def _left(round: Round) -> set[tuple[int | None, int]]:
    """Streams that come back: within its capture by its end, outside of all by an edge to another."""
    left: set[tuple[int | None, int]] = set()
    inside: dict[int, list[Phase | Edge]] = {}
    for item in round.items:
        if isinstance(item, Phase | Edge) and item.capture is not None:
            inside.setdefault(item.capture, []).append(item)
        if isinstance(item, Edge) and (item.capture is None or round.from_outside(item)):
            origin = round.origin(item.source)
            left |= {(None, origin)} - {(None, item.target)}
    for capture, items in inside.items():
        left |= {(capture, stream) for stream in _ended(round, capture, items)}
    return left


def _ended(round: Round, capture: int, items: list[Phase | Edge]) -> set[int]:
    """Streams of which the end of the capture waits for the last phase, found from that end backwards."""
    ends = {round.captures[capture].stream}
    """Streams on which whatever stands here would be over by the end."""
    waited: set[int] = set()
    """Phases that an edge further down brings there."""
    last: set[int] = set()
    found: set[int] = set()
    for item in reversed(items):
        if isinstance(item, Edge):
            if item.target in ends and item.source.kind == "stream":
                ends.add(item.source.number)
            elif item.target in ends and item.source.kind == "phase":
                waited.add(item.source.number)
            continue
        if item.number in waited:
            ends.add(item.stream)
        if item.stream in ends and item.stream not in last:
            found.add(item.stream)
        last.add(item.stream)
    return found


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
        fix=_join(round, fork),
    )


def _join(round: Round, fork: Edge) -> Fix | None:
    """The branch joined where the block of its fork ends, into the stream that it is forked from."""
    _, branch, _, source = fork.span.text.split(maxsplit=3)
    origin = round.stream_name(round.origin(fork.source))
    if fork.source.kind == "stream":
        origin = source
    elif branch != round.stream_name(fork.target) or origin == round.stream_name(HOST):
        return None  # a module knows its streams by names of its own
    text = f"join {branch} into {origin}"
    spec, end = fork.span.source, end_of_block(fork.span.source, fork.span.end)
    line, column = spec.place(end)
    indent, (first, _) = spec.line(line)[: column - 1], spec.place(fork.span.start)
    if indent.strip() or first == line:
        return Fix(
            f"at the end of the block, write: {text}", (Edit(Span(spec, end, end), f" {text} "),)
        )
    start = end - len(indent)
    above = spec.line(first)
    new = f"{above[: len(above) - len(above.lstrip())]}{text}\n"
    return Fix(f"before line {line}, write: {text}", (Edit(Span(spec, start, start), new),))
