"""Random rounds that are safe because every needed order was written in, and the same with one broken.

What is needed, and whether it is there, is worked out from the statements as they are drawn, by
listing what comes before each of them over all rounds; nothing of the compiler has a part in it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import product
from random import Random

STREAMS = ("host", "a", "b", "c")
GUARDED = 0.06
"""Of the rounds, those with two routes, which are looked at in every sequence."""
LAUNCHED, REBOUND = 0.1, 0.3
"""Of the phases, those in flight until an await; of the captures, those with a task that is rebound."""


@dataclass(frozen=True)
class Buffer:
    name: str
    copies: int
    host: bool
    task: bool = False
    """Whether it holds the parameters of a captured task."""

    def text(self) -> str:
        if self.task:
            return f"buffer {self.name} : i64[4] task"
        copies = f" copies {self.copies}" if self.copies > 1 else ""
        return f"buffer {self.name} : i64[4] carried{copies}{' on host' if self.host else ''}"


@dataclass(frozen=True)
class Access:
    buffer: Buffer
    kind: str
    back: int
    first: int
    end: int

    def text(self) -> str:
        prev = f"prev {self.back} " if self.back else ""
        whole = (self.first, self.end) == (0, 4)
        return f"{self.kind} {prev}{self.buffer.name}" + (
            "" if whole else f"[{self.first} .. {self.end - 1}]"
        )

    @property
    def reads(self) -> bool:
        return self.kind != "writes"

    @property
    def writes(self) -> bool:
        return self.kind != "reads"


@dataclass(frozen=True, eq=False)
class Phase:
    name: str
    stream: str
    accesses: tuple[Access, ...]
    capture: str | None = None
    guarded: bool = False
    """Whether it has a part only in some rounds."""
    launched: str | None = None
    """The stream that it is launched on; its own bears its name."""

    @property
    def rebinds(self) -> bool:
        return any(one.buffer.task and one.writes for one in self.accesses)

    def text(self) -> str:
        clauses = " ".join(access.text() for access in self.accesses)
        if self.launched:
            return f"launch {self.name} on {self.launched} {{ {clauses} }}"
        phase = f"phase {self.name} on {self.stream} {{ {clauses} }}"
        return f"when often {{ {phase} }}" if self.guarded else phase


@dataclass(frozen=True, eq=False)
class Edge:
    """`into` waits for what a stream was issued so far, or for a phase or a capture."""

    source: str
    into: str
    back: int = 0
    fork: bool = False
    capture: str | None = None
    awaits: bool = False

    def text(self) -> str:
        if self.awaits:
            return f"await {self.source} on {self.into}"
        source = f"prev {self.back} {self.source}" if self.back else self.source
        if self.fork and self.into != "host":
            return f"fork {self.into} from {source}"
        return f"join {source} into {self.into}"


@dataclass(frozen=True, eq=False)
class Open:
    name: str
    stream: str

    def text(self) -> str:
        return f"capture {self.name} on {self.stream} rows 4 {{"


@dataclass(frozen=True, eq=False)
class Close:
    name: str
    stream: str

    def text(self) -> str:
        return "}"


Line = Phase | Edge | Open | Close


@dataclass(frozen=True)
class Safe:
    buffers: tuple[Buffer, ...]
    lines: tuple[Line, ...]

    def text(self) -> str:
        streams = [f"stream {name}" for name in STREAMS[1:]]
        guard = ["guard often"] if self.guarded else []
        parts = [
            *guard,
            *streams,
            *(b.text() for b in self.buffers),
            *(one.text() for one in self.lines),
        ]
        return "\n".join(["spec 1", "pipeline p {", *(f"  {part}" for part in parts), "}", ""])

    @property
    def guarded(self) -> bool:
        return any(isinstance(line, Phase) and line.guarded for line in self.lines)

    @property
    def edges(self) -> list[Edge]:
        """Those that a text can do without."""
        return [line for line in self.lines if isinstance(line, Edge) and not line.awaits]


@dataclass(frozen=True)
class Pair:
    """Two accesses that meet and that nothing orders, so many rounds apart."""

    earlier: Phase
    later: Phase
    apart: int
    inside: bool
    by_issue: bool
    """Whether the later may begin when the host issues it."""


# Drawing


def safe_round(random: Random, guarded: float = GUARDED) -> Safe:
    """Up to 7 phases on up to 3 streams and the host, some captured, every needed order written in."""
    drawn = _drawn(random, guarded)
    while missing := next(unordered(drawn), None):
        drawn = _mended(drawn, missing, random)
    if random.random() < 0.4:
        drawn = _with_one_more(drawn, random)
    return _brought_back(drawn)


def guarded_round(random: Random) -> Safe:
    """A safe round with two routes, where that can be, and edges that nothing asked for."""
    drawn = safe_round(random, guarded=1)
    for _ in range(random.randrange(4)):
        drawn = _with_one_more(drawn, random)
    return _brought_back(drawn)


def _drawn(random: Random, guarded: float) -> Safe:
    streams = STREAMS[1 : 1 + random.choice([2, 2, 3, 3])]
    buffers = tuple(
        Buffer(f"x{n}", random.choice([1, 1, 1, 2, 3]), random.random() < 0.15)
        for n in range(random.randint(1, 3))
    )
    tasks: list[Buffer] = []
    lines: list[Line] = []
    count = random.randint(2, 6)
    number = 0
    while number < count:
        if random.random() < 0.2:
            stream = random.choice(streams)
            name = f"g{number}"
            both = random.random() < 0.5
            side = random.choice([one for one in streams if one != stream])
            inner = [
                _phase(random, f"p{number + n}", random.choice([stream, side]), buffers, name)
                if both
                else _phase(random, f"p{number + n}", stream, buffers, name)
                for n in range(random.randint(1, 3))
            ]
            if random.random() < REBOUND:
                task = Buffer(f"t{number}", 1, False, task=True)
                tasks.append(task)
                lines.append(_rebind(random, task, buffers, random.choice(streams)))
                place = random.randrange(len(inner))
                read = Access(task, "reads", 0, 0, 4)
                inner[place] = replace(inner[place], accesses=(*inner[place].accesses, read))
            sides = any(one.stream == side for one in inner)
            forks = [Edge(f"{name}.loaded", side, fork=True, capture=name)] * sides
            joins = [Edge(side, stream, capture=name)] * sides
            lines += [Open(name, stream), *forks, *inner, *joins, Close(name, stream)]
            number += len(inner)
        else:
            stream = "host" if random.random() < 0.1 else random.choice(streams)
            phase = _phase(random, f"p{number}", stream, buffers)
            if stream != "host" and random.random() < LAUNCHED:
                phase = replace(phase, stream=phase.name, launched=stream)
            lines.append(phase)
            number += 1
    for phase in [line for line in lines if isinstance(line, Phase) and line.launched]:
        below = range(lines.index(phase) + 1, len(lines) + 1)
        at = random.choice([n for n in below if _within(lines, n) is None])
        lines.insert(at, Edge(phase.name, random.choice(streams), awaits=True))
    if random.random() < guarded:
        lines = _with_a_guard(lines, random)
    return _without_dead_reads(Safe((*buffers, *tasks), tuple(lines)))


def _rebind(random: Random, task: Buffer, buffers: tuple[Buffer, ...], stream: str) -> Phase:
    """What fills the parameters of a task, for the graph below it."""
    phase = _phase(random, f"fill_{task.name}", stream, buffers[:1])
    return replace(phase, accesses=(*phase.accesses, Access(task, "writes", 0, 0, 4)))


def _phase(
    random: Random,
    name: str,
    stream: str,
    buffers: tuple[Buffer, ...],
    capture: str | None = None,
) -> Phase:
    accesses = []
    for buffer in buffers:
        if random.random() < 0.35:
            continue
        kind = random.choice(["reads", "reads", "updates", "writes"])
        back = random.randrange(buffer.copies) if kind == "reads" else 0
        first, end = random.choice([(0, 4), (0, 4), (0, 4), (0, 2), (1, 3), (3, 4)])
        accesses.append(Access(buffer, kind, back, first, end))
    return Phase(name, stream, tuple(accesses), capture)


def _with_a_guard(lines: list[Line], random: Random) -> list[Line]:
    """One phase has a part only where the guard says so."""
    phases = [p for p in lines if isinstance(p, Phase) and not (p.launched or p.rebinds)]
    free = [p for p in phases if p.capture is None and p.stream != "host"]
    chosen = random.choice(free) if free else None
    return [
        replace(line, guarded=True) if isinstance(line, Phase) and line is chosen else line
        for line in lines
    ]


def _without_dead_reads(drawn: Safe) -> Safe:
    """Of a buffer that not every round writes there is no earlier round's value to ask for."""
    sure = [p for p in drawn.lines if isinstance(p, Phase) and not p.guarded]
    written = {a.buffer for p in sure for a in p.accesses if a.writes}
    lines = tuple(
        replace(
            line,
            accesses=tuple(a if a.buffer in written else replace(a, back=0) for a in line.accesses),
        )
        if isinstance(line, Phase)
        else line
        for line in drawn.lines
    )
    return replace(drawn, lines=lines)


def _mended(drawn: Safe, missing: Pair, random: Random) -> Safe:
    """With one more edge, which ends that: tight, or from a stream, or higher up, or of the host."""
    lines = list(drawn.lines)
    earlier, later = missing.earlier, missing.later
    if earlier.launched and missing.apart == 0:
        awaited = next(one for one in lines if _awaits(one, earlier))
        if lines.index(awaited) > (at := _outside(lines, later)):
            lines.remove(awaited)
            lines.insert(at, awaited)
            return replace(drawn, lines=tuple(lines))
    filled = {a.buffer for a in earlier.accesses if a.writes and a.buffer.task}
    if missing.apart == 0 and any(a.buffer in filled for a in later.accesses):
        waits = [one for one in drawn.edges if one.source == earlier.name and one.capture]
        if not waits and random.random() < 0.7:
            lines.insert(
                lines.index(later), Edge(earlier.name, later.stream, capture=later.capture)
            )
            return replace(drawn, lines=tuple(lines))
    if missing.inside:
        at, lowest = lines.index(later), lines.index(earlier) + 1
        source, origin, into, capture = earlier.name, earlier.stream, later.stream, later.capture
    else:
        at, capture = _outside(lines, later), None
        source = earlier.capture or earlier.name
        origin, into = _queue(lines, earlier), _queue(lines, later)
        lowest = _below(lines, earlier) if missing.apart == 0 else 0
        into = later.launched or into
    if missing.by_issue or (not missing.inside and random.random() < 0.1):
        into = "host"
    if not missing.by_issue and into != "host" and random.random() < 0.3:
        at = random.choice([n for n in range(lowest, at + 1) if _within(lines, n) == capture])
    from_stream = random.random() < 0.4 and origin not in ("host", into) and not earlier.launched
    if earlier.guarded and missing.apart == 0:  # there may be no such phase to name
        from_stream = True
    if from_stream:
        edge = Edge(origin, into, 0, random.random() < 0.5, capture)
    else:
        edge = Edge(source, into, missing.apart, random.random() < 0.5, capture)
    lines.insert(at, edge)
    return replace(drawn, lines=tuple(lines))


def _with_one_more(drawn: Safe, random: Random) -> Safe:
    """With an edge that nothing asked for."""
    lines = list(drawn.lines)
    at = random.choice([n for n in range(len(lines) + 1) if _within(lines, n) is None])
    source, into = random.sample(STREAMS[1:], 2)
    lines.insert(at, Edge(source, into))
    return replace(drawn, lines=tuple(lines))


def _brought_back(drawn: Safe) -> Safe:
    """Every stream that is forked ends in some other: the rest would be refused for that alone."""
    lines = list(drawn.lines)
    for edge in drawn.edges:
        if edge.fork and edge.capture is None and edge.into != "host":
            ours = [
                line
                for line in lines
                if isinstance(line, Phase | Open) and line.stream == edge.into
            ]
            left = any(
                _origin(lines, e) == edge.into != e.into and e.capture is None
                for e in lines
                if isinstance(e, Edge)
            )
            if ours and not left:
                lines.append(Edge(edge.into, next(s for s in STREAMS[1:] if s != edge.into)))
    return replace(drawn, lines=tuple(lines))


def _origin(lines: list[Line], edge: Edge) -> str:
    if edge.source in STREAMS:
        return edge.source
    name = edge.source.removesuffix(".loaded")
    found = next(x for x in lines if isinstance(x, Phase | Open) and x.name == name)
    return found.stream


def _queue(lines: list[Line], phase: Phase) -> str:
    """The stream that a phase, or the replay that it is in, is an item of."""
    if phase.capture is None:
        return phase.stream
    return next(x.stream for x in lines if isinstance(x, Open) and x.name == phase.capture)


def _outside(lines: list[Line], phase: Phase) -> int:
    """The line of a phase, or of the capture around it."""
    if phase.capture is None:
        return lines.index(phase)
    return next(n for n, x in enumerate(lines) if isinstance(x, Open) and x.name == phase.capture)


def _awaits(line: Line, phase: Phase) -> bool:
    return isinstance(line, Edge) and line.awaits and line.source == phase.name


def _below(lines: list[Line], phase: Phase) -> int:
    """The first line below it, of a launch below its await."""
    if phase.launched:
        return 1 + next(n for n, one in enumerate(lines) if _awaits(one, phase))
    if phase.capture is None:
        return lines.index(phase) + 1
    ends = (n for n, x in enumerate(lines) if isinstance(x, Close) and x.name == phase.capture)
    return 1 + next(ends)


def _within(lines: list[Line], at: int) -> str | None:
    """The capture that a new line there would stand in."""
    inside = None
    for line in lines[:at]:
        if isinstance(line, Open):
            inside = line.name
        elif isinstance(line, Close):
            inside = None
    return inside


# Breaking


def broken(drawn: Safe, random: Random) -> Safe | None:
    """The round with one edge gone, or less than it was, so that a needed order is not there."""
    edges = drawn.edges
    random.shuffle(edges)
    for edge in edges:
        ways = [None, *_weaker(drawn, edge)]
        random.shuffle(ways)
        for way in ways:
            lines = [way if one is edge else one for one in drawn.lines]
            less = replace(drawn, lines=tuple(one for one in lines if one))
            if next(unordered(less), None):
                return less
    return None


def _weaker(drawn: Safe, edge: Edge) -> Iterator[Edge]:
    if edge.capture is not None:
        return
    if edge.source not in STREAMS:
        if edge.back < 3:
            yield replace(edge, back=edge.back + 1)
        return
    above = drawn.lines[: drawn.lines.index(edge)]
    for line in above:
        free = isinstance(line, Phase) and line.capture is None and not line.guarded
        if isinstance(line, Phase) and free and line.stream == edge.source:
            yield replace(edge, source=line.name)


# What comes before what


@dataclass
class _Item:
    """Something that begins and ends: a phase, the load of a capture, the end of one."""

    bit: int
    past: int
    """What is over when it begins, as bits."""

    @property
    def over(self) -> int:
        return self.past | self.bit


@dataclass
class _Touch:
    phase: Phase
    access: Access
    round: int
    begin: int
    end: int
    by_issue: bool = False
    inside: bool = False
    group: tuple = ()


@dataclass
class _Unrolled:
    items: dict[tuple, _Item] = field(default_factory=dict)
    tails: dict[tuple, int] = field(default_factory=dict)
    pending: dict[tuple, int] = field(default_factory=dict)
    host: int = 0
    touches: list[_Touch] = field(default_factory=list)
    phases: dict[str, Phase] = field(default_factory=dict)
    ends: list[dict[tuple, int]] = field(default_factory=list)
    """Of each round, the tails that it left."""

    def frontier(self, queue: tuple) -> int:
        """What is over once a stream has done, and waited for, all that it was issued."""
        return self.tails.get(queue, 0) | self.pending.get(queue, 0)

    def item(self, name: tuple, queue: tuple) -> _Item:
        past = self.host | self.tails.get(queue, 0) | self.pending.pop(queue, 0)
        made = _Item(1 << len(self.items), past)
        self.items[name] = made
        self.tails[queue] = made.over
        if queue == (None, "host"):
            self.host = made.over
        return made


def unordered(drawn: Safe) -> Iterator[Pair]:
    """Pairs that meet without an order, the nearest rounds first, in any sequence of the routes."""
    copies = max(b.copies for b in drawn.buffers)
    back = max((e.back for e in drawn.edges), default=0)
    rounds = 2 + max(copies, back)
    found = [
        _unrolled(drawn, route, rounds - 1 - copies)
        for route in product((True, False) if drawn.guarded else (True,), repeat=rounds)
    ]
    for apart in range(1 + copies):
        for state in found:
            yield from _unordered(drawn, state.touches, apart)


def _unordered(drawn: Safe, touches: list[_Touch], apart: int) -> Iterator[Pair]:
    for one in touches:
        for other in touches:
            late = other.round - one.round == apart and not other.begin & one.end
            if late and _meet(drawn, one, other):
                yield Pair(one.phase, other.phase, apart, one.inside, other.by_issue)


def _meet(drawn: Safe, one: _Touch, other: _Touch) -> bool:
    a, b = one.access, other.access
    if a.buffer is not b.buffer or not (a.writes or b.writes) or one.inside != other.inside:
        return False
    if one.inside and one.group != other.group:
        return False
    if (one.round, one.group) == (other.round, other.group) and not one.inside and one.group:
        return False
    if one.round == other.round:
        order = drawn.lines
        if one.phase is other.phase or order.index(one.phase) > order.index(other.phase):
            return False
    slots = (one.round - a.back) - (other.round - b.back)
    return slots % a.buffer.copies == 0 and a.first < b.end and b.first < a.end


def _unrolled(drawn: Safe, route: tuple[bool, ...], since: int) -> _Unrolled:
    state = _Unrolled(phases={p.name: p for p in drawn.lines if isinstance(p, Phase)})
    for round, guard in enumerate(route):
        lines = tuple(one for one in drawn.lines if guard or not getattr(one, "guarded", False))
        _round(replace(drawn, lines=lines), state, round)
        queues = {*state.tails, *state.pending}
        state.ends.append({queue: state.frontier(queue) for queue in queues})
    # In the first rounds the waits for rounds before them are not there: the last ones are as all are.
    state.touches = [t for t in state.touches if t.round >= since]
    return state


def _round(drawn: Safe, state: _Unrolled, round: int) -> None:
    capture: Open | None = None
    static: set[str] = set()
    written: set[str] = set()
    waiting: list[tuple[Phase, Access, int, int, bool]] = []
    for line in drawn.lines:
        if isinstance(line, Open):
            capture, written, waiting = line, set(), []
            inner = [p for p in drawn.lines if isinstance(p, Phase) and p.capture == line.name]
            accesses = [access for phase in inner for access in phase.accesses]
            static = {a.buffer.name for a in accesses if a.writes or a.buffer.task}
            opened = state.item((line.name, "loaded", round), (None, line.stream))
            for one in {p.stream for p in inner} - {line.stream}:
                state.tails[line.name, one] = opened.over
                state.pending.pop((line.name, one), None)
        elif isinstance(line, Close):
            for queue in [q for q in state.tails if q[0] == line.name]:
                state.tails[None, line.stream] |= state.tails[queue]
            closed = state.item((line.name, "done", round), (None, line.stream))
            for phase, access, begin, end, issue in waiting:
                group = (line.name, round)
                touch = _Touch(phase, access, round, begin, end or closed.bit, issue, group=group)
                state.touches.append(touch)
            capture = None
        elif isinstance(line, Edge):
            _edge(drawn, state, round, line)
        else:
            host = state.host
            side = capture is not None and line.stream != capture.stream
            if line.launched:
                state.pending[None, line.stream] = state.frontier((None, line.launched))
            item = state.item(
                (line.name, "run", round), (capture.name if side and capture else None, line.stream)
            )
            for access in line.accesses:
                if capture is None:
                    issue = access.buffer.host and line.stream != "host" and access.reads
                    begin = host if issue else item.past
                    state.touches.append(_Touch(line, access, round, begin, item.bit, issue))
                    continue
                opened = state.items[capture.name, "loaded", round]
                name = access.buffer.name
                own = name in written and not access.back
                loads = access.reads and name not in static and not own
                issue = access.buffer.host and loads
                begin = host if issue else item.past if access.buffer.task else opened.past
                waiting.append((line, access, begin, opened.bit if loads else 0, issue))
                if not loads:
                    group = (capture.name, round)
                    inner_touch = _Touch(
                        line, access, round, item.past, item.bit, False, True, group
                    )
                    state.touches.append(inner_touch)
            written |= {a.buffer.name for a in line.accesses if a.writes}


def _edge(drawn: Safe, state: _Unrolled, round: int, edge: Edge) -> None:
    def queue(stream: str) -> tuple:
        home = next(
            (x.stream for x in drawn.lines if isinstance(x, Open) and x.name == edge.capture),
            stream,
        )
        return (edge.capture if stream != home else None, stream)

    if edge.source in STREAMS:
        before = state.frontier(queue(edge.source))
    else:
        name = edge.source.removesuffix(".loaded")
        phase = state.phases.get(name)
        what = "run"
        if phase is None:
            what = "loaded" if edge.source.endswith(".loaded") else "done"
        elif phase.capture is not None and edge.capture is None:
            name, what = phase.capture, "done"
        past = round - edge.back
        item = state.items.get((name, what, past))
        before = item.over if item else 0
        if (
            item is None and phase is not None and past >= 0
        ):  # it had no part: its stream's end stands for it
            before = state.ends[past].get((None, phase.stream), 0)
    if edge.into == "host":
        state.item((id(edge), "host", round), (None, "host"))
        state.host |= before
        state.tails[None, "host"] = state.host
    else:
        into = queue(edge.into)
        state.pending[into] = state.pending.get(into, 0) | before
