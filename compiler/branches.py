"""Every branch of a round: what it does, where it comes back, what may run at the same time."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass

from plait.compiler.order import Order, order
from plait.compiler.round import HOST, Edge, Open, Phase, Round


@dataclass(frozen=True, slots=True)
class Beside:
    """Steps of a round that may run at the same time as a branch, in issue order."""

    rounds_later: int
    """Than the branch's own round; less than 0 for an earlier one."""
    steps: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Branch:
    """What a fork starts, and where it comes back."""

    fork: str
    line: int
    stream: str
    steps: tuple[str, ...]
    beside: tuple[Beside, ...]
    """What no order keeps apart from it, on other streams."""
    back: str
    back_line: int
    rounds_later: int


@dataclass(frozen=True, slots=True)
class _Step:
    """A phase that stands alone, or a whole capture: the items it begins and ends with."""

    name: str
    stream: int
    first: int
    last: int


def branches(found: Order) -> list[Branch]:
    """The branches that forks start, in the order of the text.

    What runs beside one is looked for as many rounds before and after it as the latest branch needs
    to come back, at least one.
    """
    round = found.round
    steps = _steps(round)
    started = []
    for place, item in enumerate(round.items):
        if isinstance(item, Edge) and _outer_fork(item):
            own = _started(round, steps, place, item)
            back, later = _return(round, item.target, own[-1].first) if own else (None, 0)
            if back is not None:
                started.append((item, own, back, later))
    window = max((later for *_, later in started), default=0) or 1
    wide = order(round, 2 * window + 1)
    result = []
    for fork, own, back, later in started:
        edge = round.items[back]
        assert isinstance(edge, Edge)
        branch = Branch(
            round.edge_text(fork),
            fork.span.line,
            round.stream_name(fork.target),
            tuple(step.name for step in own),
            _beside(wide, window, steps, own),
            round.edge_text(edge),
            edge.span.line,
            later,
        )
        result.append(branch)
    return result


def _outer_fork(edge: Edge) -> bool:
    return edge.word in ("fork", "launch") and edge.target != HOST and edge.capture is None


def _steps(round: Round) -> list[_Step]:
    found = []
    for place, item in enumerate(round.items):
        if isinstance(item, Open):
            capture = round.captures[item.capture]
            found.append(
                _Step(capture.name, capture.stream, place, round.places["capture", item.capture])
            )
        elif isinstance(item, Phase) and item.capture is None:
            found.append(_Step(item.name, item.stream, place, place))
    return found


def _started(round: Round, steps: list[_Step], place: int, fork: Edge) -> list[_Step]:
    """The steps of the fork's stream up to its next fork."""
    again = (
        n
        for n, item in enumerate(round.items[place + 1 :], place + 1)
        if isinstance(item, Edge) and _outer_fork(item) and item.target == fork.target
    )
    end = next(again, len(round.items))
    return [step for step in steps if step.stream == fork.target and place < step.first < end]


def _beside(wide: Order, middle: int, steps: list[_Step], own: list[_Step]) -> tuple[Beside, ...]:
    """Steps of other queues that may run while one of the branch's steps in the middle round does."""
    stream = own[0].stream
    starts = [wide.at(middle, step.first) for step in own]
    ends = [wide.at(middle, step.last).index for step in own]
    found = []
    for number, moments in enumerate(wide.moments):
        names = []
        for step in steps:
            if step.stream == stream:
                continue
            over = bisect_left(ends, moments[step.first].known[stream] + 1)  # when it begins
            if over < len(own) and not starts[over].after(moments[step.last]):
                names.append(step.name)
        if names:
            found.append(Beside(number - middle, tuple(names)))
    return tuple(found)


def _return(round: Round, stream: int, last: int) -> tuple[int | None, int]:
    """The first edge, in issue order from `last` on, that waits for that step; rounds later."""
    for rounds in range(0, 2 + max((e.source.rounds_back for e in round.edges), default=0)):
        for place, item in enumerate(round.items):
            if not isinstance(item, Edge) or item.target == stream or (not rounds and place < last):
                continue
            if item.capture is not None and item.source.kind == "stream":
                continue  # of that stream within the graph
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
        items = enumerate(round.items)
        issued = [n for n, item in items if round.stream_outside(item) == stream]
        above = [n for n in issued if n < place]
        if above:
            return above[-1], 0
        return (issued[-1], 1) if issued else None
    if source.kind not in ("phase", "capture"):
        return None
    number = round.places[source.kind, source.number]
    there = round.stream_outside(round.items[number]) == stream
    return (number, source.rounds_back) if there else None
