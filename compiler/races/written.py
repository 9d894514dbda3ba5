"""Missing edges as statements: where each can be written once, for all turns of a loop and calls of a module.

An edge stands right before the later access, or, where the names of both ends are not seen there, before
the innermost call or capture around it where they are. What loops repeat is one statement where the
indices of its ends keep their distance, under a `when` where only some turns need it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from plait.compiler.elaboration.frame import Frame
from plait.compiler.races.conflicts import Race
from plait.compiler.races.mend import Mend, tight
from plait.compiler.round import HOST, Phase, Round, prev
from plait.dsl import syntax
from plait.dsl.diagnostic import Edit, Fix
from plait.dsl.record import Record
from plait.dsl.span import Span

MOST_TURNS = 4
"""Turns of a loop that a `when` may name one by one."""


@dataclass(frozen=True)
class Statement:
    """An edge to be written, and the races that it ends."""

    races: list[Race]
    mends: list[Mend]
    """As each of them alone would be mended."""
    text: str
    before: Span
    """The statement to write it in front of."""
    editable: bool

    def fix(self) -> Fix:
        title = f"before line {self.before.line}, write: {self.text}"
        if not self.editable:
            return Fix(title)
        source, start = self.before.source, self.before.start
        line, column = source.place(start)
        indent = source.line(line)[: column - 1]
        apart = "  " if indent.strip() else f"\n{indent}"
        return Fix(title, (Edit(Span(source, start, start), self.text + apart),))


class _Point(Record):
    """A path to a phase or a capture, with the numbers in its indices apart."""

    names: str
    """With `{}` where an index stands."""
    indices: tuple[int, ...]


class _Spot(Record):
    """Where an edge may be written, and how its ends are called there."""

    before: Span
    point: _Point
    stream: str
    conditions: tuple[str, ...]
    loop: Frame | None
    """The innermost one whose variable is seen."""


@dataclass
class _Group:
    """Races that one statement may end."""

    spot: _Spot
    back: int
    word: str
    found: list[tuple[Race, Mend, _Spot]] = field(default_factory=list)


def statements(round: Round, races: Iterable[Race]) -> list[Statement]:
    """The edges that end those races, each of which needs its own."""
    groups: dict[tuple, _Group] = {}
    lone: list[Statement] = []
    for race in races:
        mend = tight(round, race)
        spot = _spot(round, race, mend)
        if spot is None:
            lone.append(Statement([race], [mend], mend.text, mend.line_of, False))
            continue
        variable = spot.loop and spot.loop.node
        indices = () if variable else spot.point.indices
        key = (spot.before, spot.stream, spot.point.names, indices, mend.edge.source.rounds_back)
        group = groups.setdefault(
            (*key, spot.conditions, variable and variable.span),
            _Group(spot, mend.edge.source.rounds_back, mend.edge.word),
        )
        group.found.append((race, mend, spot))
    turns = _turns(round) if any(group.spot.loop for group in groups.values()) else {}
    made = [one for group in groups.values() for one in _written(group, turns)]
    return made + lone


def _spot(round: Round, race: Race, mend: Mend) -> _Spot | None:
    earlier, later = race.earlier.phase, race.later.phase
    if earlier.frame is None or later.frame is None:
        return None
    ours, theirs = later.frame.chain(), earlier.frame.chain()
    common = 0
    while common < min(len(ours), len(theirs)) and ours[common] is theirs[common]:
        common += 1
    deepest = common
    while deepest < len(ours) and isinstance(ours[deepest].node, syntax.For | syntax.When):
        deepest += 1
    before = later.statement if deepest == len(ours) else ours[deepest].statement
    inner = ours[deepest - 1]
    scope = inner.scope
    home = _home(round, earlier, theirs, common)
    if not home.startswith(scope.prefix) or before is None:
        return None
    stream = _name_of(scope.numbers["stream"], mend.edge.target, mend, round)
    if stream is None:
        return None
    known = {_condition(frame) for frame in ours[:deepest] if isinstance(frame.node, syntax.When)}
    conditions = tuple(one for one in _conditions(theirs[common:]) if one not in known)
    loops = [f for f in ours[:deepest] if isinstance(f.node, syntax.For) and f.scope is scope]
    point = _point(home.removeprefix(scope.prefix))
    return _Spot(before, point, stream, conditions, loops[-1] if loops else None)


def _home(round: Round, earlier: Phase, frames: list[Frame], common: int) -> str:
    """The full name of what an edge from that phase names, where it is seen from outside those frames."""
    graph = earlier.capture
    if graph is not None and any(isinstance(f.node, syntax.Capture) for f in frames[common:]):
        return round.captures[graph].name
    return earlier.name


def _name_of(names: dict[str, int], stream: int, mend: Mend, round: Round) -> str | None:
    """What a stream is called in a scope: as in the pipeline where it can be."""
    if stream == HOST:
        return "host"
    called = [name for name, number in names.items() if number == stream]
    own = round.stream_name(stream)
    return own if own in called else next(iter(called), None)


def _point(path: str) -> _Point:
    pieces = path.replace("]", "[").split("[")
    return _Point("[{}]".join(pieces[::2]), tuple(int(one) for one in pieces[1::2]))


def _conditions(frames: list[Frame]) -> Iterator[str]:
    """What must hold for a statement to be there, of what is seen outside those frames."""
    for frame in frames:
        if isinstance(frame.node, syntax.For | syntax.Call):
            return
        if isinstance(frame.node, syntax.When):
            yield _condition(frame)


def _condition(frame: Frame) -> str:
    assert isinstance(frame.node, syntax.When)
    text = frame.node.condition.span.text
    return text if frame.value else f"not ({text})"


_Turns = dict[tuple[int, int], set[int]]


def _turns(round: Round) -> _Turns:
    """The turns in which a statement is expanded, by where it and the loop around it stand."""
    found: _Turns = {}
    seen: set[int] = set()
    for phase in round.phases:
        statement, frame = phase.statement, phase.frame
        while frame is not None:
            loop = frame
            while loop is not None and loop.scope is frame.scope:
                if isinstance(loop.node, syntax.For):
                    key = (id(loop.node), statement.start)
                    found.setdefault(key, set()).add(loop.value)
                    break
                loop = loop.outer
            if id(frame) in seen or frame.statement is None:
                break
            seen.add(id(frame))
            statement, frame = frame.statement, frame.outer
    return found


def _written(group: _Group, turns: _Turns) -> Iterator[Statement]:
    """One statement, or, where the indices keep no distance, one for each pair of them."""
    loop = group.spot.loop
    if loop is None:
        yield _statement(group, group.found, _path(group.spot.point, ()), group.spot.conditions)
        return
    assert isinstance(loop.node, syntax.For)
    reached = turns.get((id(loop.node), group.spot.before.start), set())
    name = loop.node.name.text
    for part, texts in _parts(group, name):
        own = {spot.loop.value for _, _, spot in part if spot.loop}
        some = _some(name, own, reached)
        path = _path(group.spot.point, texts)
        if some is None:
            yield _statement(group, part, path, group.spot.conditions, editable=False)
        else:
            yield _statement(group, part, path, (*group.spot.conditions, *some))


_Part = list[tuple[Race, Mend, _Spot]]


def _parts(group: _Group, name: str) -> Iterator[tuple[_Part, tuple[str, ...]]]:
    """The races of a group by how the indices of the source follow from the turn."""
    width = len(group.spot.point.indices)
    far: dict[tuple[int, ...], _Part] = {}
    for one in group.found:
        turn = one[2].loop.value if one[2].loop else 0
        far.setdefault(tuple(index - turn for index in one[2].point.indices), []).append(one)
    if (len(far) == 1 and len(group.found) > 1) or not width:
        for distances, part in far.items():
            yield part, tuple(_offset(name, distance) for distance in distances)
        return
    near: dict[tuple[int, ...], _Part] = {}
    for one in group.found:
        near.setdefault(one[2].point.indices, []).append(one)
    if len(near) <= len(far):
        for indices, part in near.items():
            yield part, tuple(map(str, indices))
    else:
        for distances, part in far.items():
            yield part, tuple(_offset(name, distance) for distance in distances)


def _offset(name: str, distance: int) -> str:
    return name if not distance else f"{name} {'+' if distance > 0 else '-'} {abs(distance)}"


def _some(name: str, own: set[int], reached: set[int]) -> tuple[str, ...] | None:
    """What holds in just those turns of all that there are; None where that is too much to say."""
    first, last = min(own), max(own)
    if own >= reached:
        return ()
    if len(own) == 1:
        return (f"{name} == {first}",)
    if own == {turn for turn in reached if turn >= first}:
        return (f"{name} >= {first}",)
    if own == {turn for turn in reached if turn <= last}:
        return (f"{name} <= {last}",)
    if own == {turn for turn in reached if first <= turn <= last}:
        return (f"{name} >= {first}", f"{name} <= {last}")
    if len(own) <= MOST_TURNS:
        return (" or ".join(f"{name} == {turn}" for turn in sorted(own)),)
    return None


def _path(point: _Point, texts: tuple[str, ...]) -> str:
    return point.names.format(*(texts or map(str, point.indices)))


def _statement(
    group: _Group, part: _Part, path: str, conditions: tuple[str, ...], editable: bool = True
) -> Statement:
    ago = prev(group.back)
    stream = group.spot.stream
    text = (
        f"fork {stream} from {ago}{path}"
        if group.word == "fork"
        else f"join {ago}{path} into {stream}"
    )
    if conditions:
        some = [f"({one})" if len(conditions) > 1 and " or " in one else one for one in conditions]
        text = f"when {' and '.join(some)} {{ {text} }}"
    races, mends, _ = zip(*part, strict=True)
    return Statement(list(races), list(mends), text, group.spot.before, editable)
