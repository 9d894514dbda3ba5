"""The skeleton of a round: every step, every edge with what it orders, every branch and its return."""

from __future__ import annotations

from dataclasses import dataclass, replace

from plait.compiler.conflicts import races
from plait.compiler.order import Order, order
from plait.compiler.round import HOST, Close, Edge, Open, Phase, Round


@dataclass(frozen=True, slots=True)
class Ordered:
    """Two accesses that would race without an edge."""

    earlier: str
    later: str
    buffer: str
    rounds_back: int


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the skeleton: a phase, a capture with its phases, or an edge."""

    line: int
    text: str
    stream: str
    phases: tuple[str, ...] = ()
    rows: int | None = None
    edge: bool = False
    waits: bool = False
    """Of an edge: whether it costs a wait, or is implied by the others."""
    orders: tuple[Ordered, ...] = ()


@dataclass(frozen=True, slots=True)
class Branch:
    """What a fork starts, and where it comes back."""

    fork: str
    line: int
    stream: str
    steps: tuple[str, ...]
    beside: tuple[str, ...]
    """Steps of the stream it left, from where it left to where it comes back, that do not wait for it."""
    back: str
    back_line: int
    rounds_later: int


@dataclass(frozen=True)
class Skeleton:
    name: str
    sizes: dict[str, int]
    settings: dict[str, object]
    lines: tuple[Line, ...]
    branches: tuple[Branch, ...]


def skeleton(found: Order) -> Skeleton:
    """The skeleton of a round that was proven at one bucket."""
    round = found.round
    waited = {wait.edge for wait in found.waits}
    lines = []
    for place, item in enumerate(round.items):
        if isinstance(item, Edge):
            target = round.stream_name(item.target)
            needed = _orders_of(found, place)
            at = item.span.line
            text = round.edge_text(item)
            lines.append(Line(at, text, target, edge=True, waits=place in waited, orders=needed))
        elif isinstance(item, Phase):
            if item.capture is None:
                lines.append(Line(item.span.line, item.name, round.stream_name(item.stream)))
        elif isinstance(item, Open):
            capture = round.captures[item.capture]
            phases = tuple(p.name for p in round.phases if p.capture == item.capture)
            stream = round.stream_name(capture.stream)
            lines.append(Line(capture.span.line, capture.name, stream, phases, capture.rows))
    return Skeleton(
        round.name, round.sizes, dict(round.settings), tuple(lines), tuple(_branches(found))
    )


def _orders_of(found: Order, place: int) -> tuple[Ordered, ...]:
    """What would race without the edge at that place, each buffer of a pair of phases once."""
    round = found.round
    without = replace(round, items=round.items[:place] + round.items[place + 1 :])
    pairs = races(order(without, found.rounds))
    return tuple(
        Ordered(
            race.earlier.phase.name,
            race.later.phase.name,
            round.buffers[race.buffer].name,
            race.distance,
        )
        for race in pairs
    )


def _branches(found: Order) -> list[Branch]:
    round = found.round
    branches = []
    for place, item in enumerate(round.items):
        if isinstance(item, Edge) and item.word == "fork" and item.target != HOST:
            branch = _branch(round, place, item)
            if branch is not None:
                branches.append(branch)
    return branches


def _branch(round: Round, place: int, fork: Edge) -> Branch | None:
    """The fork's stream up to its next fork, and the first edge that waits for all of it."""
    steps: list[int] = []
    for number, item in enumerate(round.items[place + 1 :], place + 1):
        if isinstance(item, Edge):
            if item.word == "fork" and item.target == fork.target:
                break
        elif _stream_of(round, number) == fork.target and not isinstance(item, Close):
            steps.append(number)
    if not steps:
        return None
    back, later = _return(round, fork.target, steps[-1])
    if back is None:
        return None
    edge = round.items[back]
    assert isinstance(edge, Edge)
    return Branch(
        round.edge_text(fork),
        fork.span.line,
        round.stream_name(fork.target),
        _names(round, steps),
        _beside(round, place, fork, back, later),
        round.edge_text(edge),
        edge.span.line,
        later,
    )


def _beside(round: Round, place: int, fork: Edge, back: int, later: int) -> tuple[str, ...]:
    """Steps of the stream that was left, those of later rounds with how much later they are."""
    origin, left = _origin(round, fork, place)
    names: list[str] = []
    for rounds in range(later + 1):
        first = left + 1 if not rounds else 0
        end = back if rounds == later else len(round.items)
        here = [n for n in range(first, end) if _stream_of(round, n) == origin]
        ago = "" if not rounds else f" (round r + {rounds})"
        names += [name + ago for name in _names(round, here)]
    return tuple(names)


def _names(round: Round, places: list[int]) -> tuple[str, ...]:
    """Steps by name, a capture's inner phases left out."""
    names = []
    for place in places:
        item = round.items[place]
        if isinstance(item, Open):
            names.append(round.captures[item.capture].name)
        elif isinstance(item, Phase) and item.capture is None:
            names.append(item.name)
    return tuple(names)


def _return(round: Round, stream: int, last: int) -> tuple[int | None, int]:
    """The first edge, in issue order from `last` on, that waits for that step; rounds later."""
    for rounds in range(0, 2 + max((e.source.rounds_back for e in round.edges), default=0)):
        for place, item in enumerate(round.items):
            if not isinstance(item, Edge) or item.target == stream or (not rounds and place < last):
                continue
            covered = _covers(round, item, place, stream)
            if covered is None:
                continue
            source, back = covered
            if rounds - back > 0 or (rounds == back and source >= last):
                return place, rounds
    return None, 0


def _covers(round: Round, edge: Edge, place: int, stream: int) -> tuple[int, int] | None:
    """Up to which step of a stream an edge waits, and of how many rounds back."""
    source = edge.source
    if source.kind == "stream":
        if source.number != stream:
            return None
        above = [n for n in range(place) if _stream_of(round, n) == stream]
        if above:
            return above[-1], 0
        below = [n for n in range(place, len(round.items)) if _stream_of(round, n) == stream]
        return (below[-1], 1) if below else None
    for number, item in enumerate(round.items):
        named = (
            isinstance(item, Phase) and source.kind == "phase" and item.number == source.number
        ) or (
            isinstance(item, Close) and source.kind == "capture" and item.capture == source.number
        )
        if named and _stream_of(round, number) == stream:
            return number, source.rounds_back
    return None


def _stream_of(round: Round, place: int) -> int | None:
    item = round.items[place]
    if isinstance(item, Edge):
        return None
    return item.stream if isinstance(item, Phase) else round.captures[item.capture].stream


def _origin(round: Round, fork: Edge, place: int) -> tuple[int, int]:
    """The stream a fork leaves, and the item after which it leaves it (-1: before any)."""
    source = fork.source
    if source.kind == "stream":
        above = [n for n in range(place) if _stream_of(round, n) == source.number]
        return source.number, above[-1] if above else -1
    for number, item in enumerate(round.items):
        named = {
            "phase": isinstance(item, Phase) and item.number == source.number,
            "capture": isinstance(item, Close) and item.capture == source.number,
            "loaded": isinstance(item, Open) and item.capture == source.number,
        }
        if named[source.kind]:
            return round.origin(source), -1 if source.rounds_back else number
    raise AssertionError(source)


def skeleton_text(found: Skeleton) -> str:
    """The skeleton as a page for a terminal."""
    at = ", ".join(f"{name} = {size}" for name, size in found.sizes.items())
    width = max((len(line.stream) for line in found.lines), default=0)
    out = [f"round of {found.name}" + (f" at {at}" if at else ""), ""]
    for line in found.lines:
        if line.edge:
            out += _edge_lines(line, width)
            continue
        text = f"{line.line:>5}  {line.stream.ljust(width)}  {line.text}"
        if line.phases:
            text += f": {', '.join(line.phases)}   (captured, {line.rows} rows)"
        out.append(text)
    out += ["", "branches", ""]
    for branch in found.branches:
        beside = ", ".join(branch.beside) or "nothing"
        later = {0: "", 1: " of the next round"}.get(
            branch.rounds_later, f", {branch.rounds_later} rounds later"
        )
        out.append(f"{branch.line:>5}  {branch.fork}: {', '.join(branch.steps)}")
        out.append(f"       comes back at line {branch.back_line}{later}: {branch.back}")
        out.append(f"       runs beside: {beside}")
    if not found.branches:
        out.append("       none")
    return "\n".join(out) + "\n"


def _edge_lines(line: Line, width: int) -> list[str]:
    says = "" if line.waits else "   (no wait: other edges give it)"
    out = [f"{line.line:>5}  {' ' * width}  {line.text}{says}"]
    for one in line.orders:
        ago = "" if not one.rounds_back else f" (round r - {one.rounds_back})"
        out.append(f"{' ' * (9 + width)}  {one.buffer}: {one.earlier}{ago} before {one.later}")
    return out
