"""What a launch writes, used before its await."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator

from plait.compiler.order import Order
from plait.compiler.races.conflicts import regions_meet, vouched
from plait.compiler.round import Access, Edge, Phase, Round
from plait.compiler.rules.rule import Rule
from plait.compiler.target import Target
from plait.dsl.diagnostic import Diagnostic, Edit, Fix, Label
from plait.dsl.span import Span

RULE = Rule(
    code="PL404",
    title="what a launch writes is used before its await",
    why="""\
A launch begins an operation and holds no stream; what it writes exists only after its await, where a
hook may even run the second half of it. A phase above the await sees what was there before, and an edge
above it waits for an end that nothing has issued yet. Move the await up, or the use down.""",
    bad="""\
spec 1
pipeline p {
  stream main
  buffer x : i64[4]
  buffer y : i64[4]
  launch send on main { writes x }
  phase look on main { reads x  writes y }
  await send on main
}
""",
    mended="""\
spec 1
pipeline p {
  stream main
  buffer x : i64[4]
  buffer y : i64[4]
  launch send on main { writes x }
  await send on main
  phase look on main { reads x  writes y }
}
""",
)


def check(round: Round, found: Order, target: Target) -> list[Diagnostic]:
    awaits = {
        edge.source.number: place
        for place, edge in enumerate(round.items)
        if isinstance(edge, Edge) and edge.word == "await"
    }
    uses = _uses(round, set(awaits))
    return [
        *(
            _used(round, phase, access, edge)
            for launch, place in awaits.items()
            for phase, access in _early(round, launch, place, uses)
            if isinstance(edge := round.items[place], Edge)
        ),
        *(
            _waited(round, edge, round.items[awaits[edge.source.number]])
            for place, edge in enumerate(round.items)
            if isinstance(edge, Edge) and edge.source.kind == "phase"
            if place < awaits.get(edge.source.number, 0) and not edge.source.rounds_back
        ),
    ]


_Use = tuple[int, Phase, Access]


def _uses(round: Round, launches: set[int]) -> dict[int, list[_Use]]:
    """Where each buffer that a launch writes is touched, in the order of the text."""
    found: dict[int, list[_Use]] = {}
    for number in launches:
        for access in round.phases[number].accesses:
            if access.writes:
                found.setdefault(access.buffer, [])
    for place, item in enumerate(round.items):
        if isinstance(item, Phase):
            for access in item.accesses:
                if access.buffer in found:
                    found[access.buffer].append((place, item, access))
    return found


def _early(
    round: Round, launch: int, until: int, uses: dict[int, list[_Use]]
) -> Iterator[tuple[Phase, Access]]:
    """Every phase between a launch and its await that touches what it writes, once."""
    begin = round.places["phase", launch]
    seen: set[int] = set()
    for written in round.phases[launch].accesses:
        given = uses.get(written.buffer, []) if written.writes else []
        first = bisect_right(given, begin, key=lambda use: use[0])
        last = bisect_left(given, until, key=lambda use: use[0])
        for _, phase, access in given[first:last]:
            if phase.number not in seen and _meet(round, written, access):
                seen.add(phase.number)
                yield phase, access


def _meet(round: Round, written: Access, access: Access) -> bool:
    number, copies = access.buffer, round.buffers[access.buffer].copies
    same = (access.rounds_back - written.rounds_back) % copies == 0
    apart = vouched(round, (number, written.region), (number, access.region))
    return same and not apart and regions_meet(written.region, access.region)


def _used(round: Round, phase: Phase, access: Access, edge: Edge) -> Diagnostic:
    launch = round.phases[edge.source.number]
    buffer = round.buffers[access.buffer].name
    repeated = launch.repeated or phase.repeated
    return Diagnostic(
        RULE.code,
        f"`{phase.name}` {access.kind} `{buffer}` of `{launch.name}`, which is awaited only below",
        access.span,
        label=f"{access.kind} {buffer}",
        labels=(Label(launch.span, "launched here"), Label(edge.span, "awaited only here")),
        facts=(("buffer", buffer), ("phases", f"{launch.name}, {phase.name}")),
        help="await it above" if repeated else "",
        fix=None if repeated else _moved(edge, phase),
    )


def _moved(edge: Edge, phase: Phase) -> Fix:
    """The await, in front of the phase or of the capture that it stands in."""
    source = edge.span.source
    to = phase.statement if edge.capture == phase.capture else phase.braces or phase.statement
    title = f"move `{edge.span.text}` to before line {to.line}"
    _, column = source.place(edge.span.start)
    start = edge.span.start - column + 1
    alone = source.line(edge.span.line).strip() == edge.span.text
    if not alone or to.source is not source:
        return Fix(title)
    _, column = source.place(to.start)
    indent = source.line(to.line)[: column - 1]
    text = f"{edge.span.text}\n{indent if not indent.strip() else ''}"
    gone = Edit(Span(source, start, start + len(source.line(edge.span.line)) + 1), "")
    return Fix(title, (Edit(Span(source, to.start, to.start), text), gone))


def _waited(round: Round, edge: Edge, awaited: object) -> Diagnostic:
    assert isinstance(awaited, Edge)
    launch = round.source_name(edge.source)
    return Diagnostic(
        RULE.code,
        f"`{round.edge_text(edge)}` waits for the end of `{launch}`, which is awaited only below",
        edge.span,
        labels=(Label(awaited.span, "awaited only here"),),
        facts=(("launch", launch), ("edge", round.edge_text(edge))),
        help=f"write it below the await, or `await {launch}` there instead",
    )
