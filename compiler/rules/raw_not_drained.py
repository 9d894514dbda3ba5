"""A raw launch that goes around what it needs, which the queue of the framework still holds."""

from __future__ import annotations

from collections.abc import Iterator

from plait.compiler.order import Order
from plait.compiler.races.conflicts import Touch, touches
from plait.compiler.round import Phase, Round, prev
from plait.compiler.rules.rule import Rule
from plait.compiler.target import Target
from plait.dsl.diagnostic import Diagnostic, Edit, Fix, Label
from plait.dsl.span import Span

RULE = Rule(
    code="PL407",
    title="a raw launch may overtake what is queued",
    why="""\
On some targets the framework puts what the host issues into a queue of its own, and waits with it. A
phase marked `raw` goes to the device around the queue, so neither its stream nor an edge puts it behind
them: it comes after only what the host knows to be over. Let the host wait for what it needs, or issue
it through the framework and leave out `raw`.""",
    bad="""\
spec 1
pipeline p {
  stream main
  buffer x : i64[4]
  buffer y : i64[4]
  phase make on main { writes x }
  phase look on main raw { reads x  writes y }
}
""",
    mended="""\
spec 1
pipeline p {
  stream main
  buffer x : i64[4]
  buffer y : i64[4]
  phase make on main { writes x }
  join make into host
  phase look on main raw { reads x  writes y }
}
""",
    target="ascend910c",
)


def check(round: Round, found: Order, target: Target) -> list[Diagnostic]:
    """Each raw phase with the newest that it may overtake on every queue."""
    raw = {phase.number for phase in round.phases if "raw" in phase.attributes}
    raw -= {phase.number for phase in round.phases if phase.capture is not None}
    if not raw or not target.streams.queued:
        return []
    overtaken: dict[int, dict[int, tuple[Touch, Touch]]] = {}
    for earlier, later in _pairs(found, raw):
        by_queue = overtaken.setdefault(later.phase.number, {})
        newest = by_queue.get(earlier.end.coordinate)
        if newest is None or newest[0].end.index < earlier.end.index:
            by_queue[earlier.end.coordinate] = earlier, later
    return [_diagnostic(round, list(pairs.values()), target) for pairs in overtaken.values()]


def _pairs(found: Order, raw: set[int]) -> Iterator[tuple[Touch, Touch]]:
    """What a raw launch of the last round meets, and the host does not know to be over."""
    round, last = found.round, found.rounds - 1
    used = {access.buffer for number in raw for access in round.phases[number].accesses}
    behind: dict[int, list[Touch]] = {buffer: [] for buffer in used}
    for touch in touches(found, range(found.rounds)):
        number = touch.access.buffer
        if number not in used:
            continue
        if touch.round == last and touch.phase.number in raw:
            own = found.at(last, touch.item)
            for earlier in behind[number]:
                over = own.issued[earlier.end.coordinate] >= earlier.end.index
                both = earlier.phase.number in raw and earlier.phase.stream == touch.phase.stream
                if not over and not both and earlier.meets(touch, round):
                    yield earlier, touch
        behind[number].append(touch)


def _diagnostic(round: Round, pairs: list[tuple[Touch, Touch]], target: Target) -> Diagnostic:
    later = pairs[0][1]
    newest = [earlier for earlier, _ in pairs]
    names = ", ".join(f"`{touch.phase.name}`" for touch in newest)
    buffers = sorted({round.buffers[one.access.buffer].name for one in newest})
    edges = [_edge(round, touch, later) for touch in newest]
    return Diagnostic(
        RULE.code,
        f"`{later.phase.name}` goes around the queue of {target.name}, and may overtake {names}",
        later.access.span,
        labels=tuple(
            Label(
                touch.access.span, f"{touch.access.kind} {round.buffers[touch.access.buffer].name}"
            )
            for touch in newest
        ),
        facts=(
            ("buffer", ", ".join(buffers)),
            ("phases", ", ".join((newest[0].phase.name, later.phase.name))),
            ("target", target.name),
        ),
        help="or issue it through the framework and leave out `raw`",
        fix=_fix(later.phase, edges),
    )


def _edge(round: Round, earlier: Touch, later: Touch) -> str:
    ago = prev(later.round - earlier.round)
    return f"join {ago}{round.outside(earlier.phase)} into host"


def _fix(phase: Phase, edges: list[str]) -> Fix:
    title = f"before line {phase.statement.line}, write: {' and '.join(edges)}"
    if phase.repeated:
        return Fix(title)
    source, start = phase.statement.source, phase.statement.start
    line, column = source.place(start)
    indent = source.line(line)[: column - 1]
    text = "".join(f"{edge}\n{indent if not indent.strip() else ''}" for edge in edges)
    return Fix(title, (Edit(Span(source, start, start), text),))
