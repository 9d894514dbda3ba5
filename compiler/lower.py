"""Rounds and their order to a Schedule: tables, events, and a program for every route.

Routes share what is equal in them. Whatever differs (a phase on another stream, a capture of other
phases) is an entry of its own, under the same name.

Where all rounds have one structure, the waits are those that `order.py` keeps: a round knows what the
rounds before it did. Where structures mix, it does not: the edges that `standing.py` keeps stand in the
program where the text has them, and one record serves all that wait for the same point.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from dataclasses import replace
from typing import Any

import plait.runtime.schedule as machine
from plait.compiler import round as ir
from plait.compiler.order import Order, Wait
from plait.compiler.races.conflicts import copied_in
from plait.compiler.round import Close, Edge, Group, Item, Open, Phase, Round, Vote
from plait.compiler.rows.of_phase import rows_of
from plait.compiler.standing import standing
from plait.dsl.span import Source, Span
from plait.dsl.values import plain


def lower(
    orders: list[Order],
    *,
    variant: str | None,
    compiler: str,
    sources: list[Source],
    digests: list[machine.Digest],
    target: machine.Digest,
    environment: dict[str, str | None],
) -> machine.Schedule:
    """The Schedule of a proven round, given its order on every route.

    `sources` are the texts it comes from, the spec first, with their digests.
    """
    first = orders[0].round
    tables = _Tables(sources, _lives(one.round for one in orders))
    mixed = len({one.round.structure for one in orders}) > 1
    stands = standing([one.round for one in orders]) if mixed else [None] * len(orders)
    routes = [_Route(one, tables, edges) for one, edges in zip(orders, stands, strict=True)]
    programs = _Numbered()
    numbers = [programs.number(route.program()) for route in routes]
    return machine.Schedule(
        name=first.name,
        variant=variant,
        compiler=compiler,
        source=digests[0],
        target=target,
        settings=tuple((name, plain(value)) for name, value in first.settings.items()),
        environment=tuple(sorted(environment.items())),
        streams=tables.streams.all(),
        buffers=tables.buffers.all(),
        events=tuple(machine.Event(name, depth) for _, name, depth in tables.events.values()),
        phases=tuple(tables.phases),
        captures=tuple(tables.captures),
        programs=programs.all(),
        buckets=tuple(route.bucket(number) for route, number in zip(routes, numbers, strict=True)),
        groups=tables.groups.all(),
        pools=tables.pools.all(),
        votes=tables.votes.all(),
        same=tuple(_same(orders, tables)),
        used=tuple(digests[1:]),
    )


def _lives(rounds: Iterable[Round]) -> dict[str, tuple[machine.Live, ...]]:
    """Of every buffer, how many rows of each axis are live, where that is the same on all routes."""
    found: dict[str, tuple[machine.Live, ...]] = {}
    for buffer in (buffer for round in rounds for buffer in round.buffers):
        axes = tuple(None if axis is None else axis.line or () for axis in buffer.axes)
        known = found.setdefault(buffer.name, axes) or axes
        same = len(known) == len(axes)
        found[buffer.name] = tuple(
            one if one == other else ()
            for one, other in zip(known, axes if same else known, strict=True)
        )
    return {name: axes for name, axes in found.items() if any(axis is not None for axis in axes)}


def _same(orders: list[Order], tables: _Tables) -> Iterator[machine.Vote]:
    """What ranks have in common without a vote."""
    choices = {
        choice.name: (order.round, choice) for order in orders for choice in order.round.choices
    }
    for round, one in choices.values():
        if one.group is not None and not one.voted:
            group = tables.group(round.groups[one.group])
            yield machine.Vote((one.name,), group, tables.certain(one.span))


class _Numbered:
    """A table in which equal entries are one."""

    def __init__(self) -> None:
        self.numbers: dict[Any, int] = {}

    def number(self, entry: Hashable) -> int:
        return self.numbers.setdefault(entry, len(self.numbers))

    def all(self) -> tuple[Any, ...]:
        return tuple(self.numbers)


class _Tables:
    """What all routes share."""

    def __init__(self, sources: list[Source], lives: dict[str, tuple[machine.Live, ...]]):
        self.lives = lives
        self.files = {id(source): number for number, source in enumerate(sources)}
        self.streams = _Numbered()
        self.buffers = _Numbered()
        self.groups = _Numbered()
        self.pools = _Numbered()
        self.votes = _Numbered()
        self.phase_numbers = _Numbered()
        self.capture_numbers = _Numbered()
        self.phases: list[machine.Phase] = []
        self.captures: list[machine.Capture] = []
        self.events: dict[tuple[str, int, int | None], list[Any]] = {}
        """By what they follow, its stream and, of a frontier, the edge: number, name and depth."""

    def group(self, group: Group) -> int:
        return self.groups.number(machine.Group(group.name, group.size, group.inside))

    def place(self, span: Span | None) -> machine.Place | None:
        return None if span is None else self.certain(span)

    def certain(self, span: Span) -> machine.Place:
        file = self.files.get(id(span.source), 0)
        return machine.Place(span.line, span.column, span.end - span.start, file)

    def phase(self, phase: machine.Phase, key: Hashable) -> int:
        number = self.phase_numbers.number((phase, key))
        if number == len(self.phases):
            self.phases.append(phase)
        return number


class _Route:
    """One route's numbers in the shared tables."""

    def __init__(self, found: Order, tables: _Tables, edges: frozenset[int] | None):
        self.order = found
        self.mixed = edges is not None
        self.round = found.round
        self.stands = {
            place: item
            for place, item in enumerate(found.round.items)
            if isinstance(item, Edge) and place in (edges or ())
        }
        """Edges that stand in the program where the text has them, by their place."""
        self.follows = _follows(found.round, self.stands)
        self.tables = tables
        round = self.round
        self.streams = [
            tables.streams.number(machine.Stream(s.name, s.kind, tables.place(s.span)))
            for s in round.streams
        ]
        self.groups = [tables.group(group) for group in round.groups]
        self.pools = [tables.pools.number(machine.Pool(p.name, p.size)) for p in round.pools]
        self.buffers = [
            tables.buffers.number(
                machine.Buffer(
                    b.name,
                    b.dtype,
                    b.place,
                    b.carried,
                    b.static,
                    b.copies,
                    tables.certain(b.span),
                    b.task,
                    b.pad,
                    None if b.pool is None else self.pools[b.pool],
                    live=tables.lives.get(b.name, ()),
                )
            )
            for b in round.buffers
        ]
        self.waits: dict[int, list[Wait]] = {}
        for wait in sorted(found.waits, key=lambda one: (-one.rounds_back, one.source)):
            self.waits.setdefault(wait.target, []).append(wait)
        self.bounds = _bounds(round)
        self.recorded = self.recorded_outside()
        self.phases: dict[int, int] = {}
        self.captures: list[int] = []
        for item in round.items:
            if isinstance(item, Open):
                self.captures.append(self.capture(item.capture))
            elif isinstance(item, Phase) and item.capture is None:
                self.phases[item.number] = tables.phase(self.phase(item, None), None)

    # Tables

    def phase(self, phase: Phase, capture: int | None) -> machine.Phase:
        collective = phase.collective
        return machine.Phase(
            phase.name,
            phase.base,
            phase.index,
            self.streams[phase.stream],
            capture,
            tuple(
                machine.Argument(a.argument, self.buffers[a.buffer], a.kind, a.rounds_back)
                for a in phase.accesses
            ),
            self.tables.certain(phase.span),
            tuple(sorted(phase.attributes)),
            collective and machine.Collective(collective.kind, self.groups[collective.group]),
        )

    def capture(self, number: int) -> int:
        """A capture and its phases, which are its own: those of another capture are others."""
        round, tables = self.round, self.tables
        capture = round.captures[number]
        inner = [phase for phase in round.phases if phase.capture == number]
        program = self.inner_program(number, {p.number: n for n, p in enumerate(inner)})
        taken = tuple((self.buffers[b], back) for b, back in copied_in(round, number))
        made = machine.Capture(
            capture.name,
            self.streams[capture.stream],
            (),
            taken,
            tables.certain(capture.span),
            program,
            None if capture.pool is None else self.pools[capture.pool],
        )
        key = (made, tuple(self.phase(phase, None) for phase in inner))
        known = tables.capture_numbers.number(key)
        for phase in inner:
            self.phases[phase.number] = tables.phase(self.phase(phase, known), known)
        if known == len(tables.captures):
            numbers = tuple(self.phases[phase.number] for phase in inner)
            issued = tuple(
                replace(one, of=numbers[one.of]) if one.op in machine.PHASE_OPS else one
                for one in program
            )
            tables.captures.append(replace(made, phases=numbers, program=issued))
        return known

    # Events

    def outside(self, wait: Wait) -> bool:
        """Whether a wait's record stands outside every capture that the wait stands in."""
        graph = self.bounds.get(wait.target)
        source = self.round.items[wait.source]
        return graph is None or not (self.bounds.get(wait.source) == graph or source == Open(graph))

    def recorded_outside(self) -> dict[int, int]:
        """For each item that is waited for from outside, in issue order, its event's number."""
        depths: dict[int, int] = {}
        for place, edge in self.stands.items():
            source = self.source_place(place, edge)
            if source is None or source in self.stands:
                self.own_event(place, edge)
            else:
                depths[source] = max(depths.get(source, 1), 1 + edge.source.rounds_back)
        for wait in self.order.waits:
            if self.mixed and wait.target not in self.bounds:
                continue
            if (point := self.elsewhere(wait)) is not None:
                self.event(point.name, self.streams[point.number], 1 + point.rounds_back)
            elif self.outside(wait):
                depths[wait.source] = max(depths.get(wait.source, 1), 1 + wait.rounds_back)
        numbers = {}
        for item in sorted(depths):
            stream = self.streams[self.stream_of(self.round.items[item])]
            numbers[item] = self.event(self.round.item_name(item), stream, depths[item])
        return numbers

    def recorded_for_others(self) -> dict[int, int]:
        """Items that a later round of another route waits for."""
        found = {}
        for place, item in enumerate(self.round.items):
            inside = place in self.bounds and not isinstance(item, Close)
            if not inside and not isinstance(item, Edge):
                name, stream = self.round.item_name(place), self.streams[self.stream_of(item)]
                number, _, depth = self.tables.events.get((name, stream, None), (0, "", 0))
                found |= {place: number} if depth > 1 and stream != machine.HOST else {}
        return found

    def event(self, name: str, stream: int, depth: int, edge: int | None = None) -> int:
        """The number of the event that follows a point on a stream, kept for so many rounds."""
        events = self.tables.events
        entry = events.setdefault((name, stream, edge), [len(events), name, 1])
        entry[2] = max(entry[2], depth)
        return entry[0]

    def source_place(self, place: int, edge: Edge) -> int | None:
        """The item that an edge follows, if this route has it; an edge, where that has the record."""
        if edge.source.kind == "stream":
            return self.follows[place]
        return self.round.places.get((edge.source.kind, edge.source.number))

    def own_event(self, place: int, edge: Edge) -> int:
        """The event of a frontier that no item ends, by its first edge, or of another route's point."""
        source = edge.source
        if source.kind == "stream":
            number = self.stands[self.follows[place]].number
            name = self.round.stream_name(source.number)
            return self.event(name, self.streams[source.number], 1, number)
        name = self.round.source_name(source.replace(rounds_back=0))
        return self.event(name, self.streams[self.round.origin(source)], 1 + source.rounds_back)

    def standing(self, place: int) -> Iterable[machine.Instruction]:
        """An edge at its own line, with a record if it is the first of what no item ends."""
        edge = self.stands[place]
        source, target = self.source_place(place, edge), self.streams[edge.target]
        at = self.tables.place(edge.span)
        if source is None or source in self.stands:
            event = self.own_event(place, edge)
        else:
            event = self.recorded[source]
        if source == place:
            yield machine.Instruction("record", event, self.streams[edge.source.number], 0, at)
        op = "block" if target == machine.HOST else "wait"
        yield machine.Instruction(op, event, target, edge.source.rounds_back, at)

    def elsewhere(self, wait: Wait) -> ir.Source | None:
        """The point that a wait is for, when only other routes have it."""
        edge = self.round.items[wait.edges[0]]
        assert isinstance(edge, Edge)
        return edge.source if edge.source.kind == "elsewhere" else None

    def awaited(self, wait: Wait) -> tuple[int, int]:
        """The event that a wait is for, and of how many rounds back."""
        if (point := self.elsewhere(wait)) is None:
            return self.recorded[wait.source], wait.rounds_back
        event = self.event(point.name, self.streams[point.number], 1)
        return event, point.rounds_back

    def stream_of(self, item: Item) -> int:
        if isinstance(item, Open | Close):
            return self.round.captures[item.capture].stream
        if isinstance(item, Phase):
            return item.stream
        return machine.HOST

    # Programs

    def program(self) -> tuple[machine.Instruction, ...]:
        self.recorded |= self.recorded_for_others()
        program: list[machine.Instruction] = []
        for number, item in enumerate(self.round.items):
            if number in self.bounds and not isinstance(item, Close):
                continue
            stream = self.streams[self.stream_of(item)]
            if number in self.stands:
                program += self.standing(number)
                continue
            program += self.outer_waits(number, item, stream)
            record = []
            if number in self.recorded:
                record.append(machine.Instruction("record", self.recorded[number], stream))
            program += self.work(item, stream, record)
        return tuple(program + self.left_records(program))

    def outer_waits(self, number: int, item: Item, stream: int) -> Iterable[machine.Instruction]:
        for wait in () if self.mixed else self.waits.get(number, ()):
            if isinstance(item, Close) and not self.outside(wait):
                continue
            op = "block" if stream == machine.HOST else "wait"
            event, back = self.awaited(wait)
            yield machine.Instruction(op, event, stream, back, self.edge_place(wait))

    def edge_place(self, wait: Wait) -> machine.Place | None:
        edge = self.round.items[wait.edge]
        assert isinstance(edge, Edge)
        return self.tables.place(edge.span)

    def work(
        self, item: Item, stream: int, record: list[machine.Instruction]
    ) -> list[machine.Instruction]:
        """What an item is to the device. The Open of a capture stands for all of it."""
        round, certain = self.round, self.tables.certain
        if isinstance(item, Phase):
            op = "launch" if item.launched else "rebind" if self.rebinds(item) else "run"
            number = self.phases[item.number]
            return [machine.Instruction(op, number, stream, 0, certain(item.span)), *record]
        if isinstance(item, Open):
            at = certain(round.captures[item.capture].span)
            number = self.captures[item.capture]
            load = [machine.Instruction("load", number, stream, 0, at)]
            replay = machine.Instruction("replay", number, stream, 0, at)
            return [*(load if copied_in(round, item.capture) else []), *record, replay]
        if isinstance(item, Vote):
            group = None if item.group is None else self.groups[item.group]
            vote = machine.Vote(item.names, group, certain(item.span))
            number = self.tables.votes.number(vote)
            return [machine.Instruction("vote", number, machine.HOST, 0, vote.place), *record]
        return record

    def rebinds(self, phase: Phase) -> bool:
        return any(a.writes and self.round.buffers[a.buffer].task for a in phase.accesses)

    def left_records(self, program: list[machine.Instruction]) -> list[machine.Instruction]:
        """Records of what does not run on this route and a later round may wait for.

        They stand at the end, where the stream has done all it was issued: what they cover is no less
        than an older record would.
        """
        recorded = {one.of for one in program if one.op == "record"}
        left = []
        for (_, stream, _), (number, _, depth) in self.tables.events.items():
            if depth > 1 and number not in recorded and stream != machine.HOST:
                left.append(machine.Instruction("record", number, stream))
        return left

    def inner_program(
        self, capture: int, numbers: dict[int, int]
    ) -> tuple[machine.Instruction, ...]:
        """What is issued while a graph is captured; phases by their place in it, events its own."""
        items = self.round.items
        inside = [place for place, graph in self.bounds.items() if graph == capture]
        opened = inside[0] - 1
        waited = {
            wait.source
            for place in inside
            for wait in self.waits.get(place, ())
            if not self.outside(wait)
        }
        events = {item: number for number, item in enumerate(sorted(waited))}
        origin = self.streams[self.round.captures[capture].stream]
        program: list[machine.Instruction] = []
        if opened in events:
            program.append(machine.Instruction("record", events[opened], origin))
        for place in inside:
            item = items[place]
            if isinstance(item, Edge):
                continue
            stream = self.streams[self.stream_of(item)]
            for wait in self.waits.get(place, ()):
                at = self.edge_place(wait)
                if not self.outside(wait):
                    one = machine.Instruction("wait", events[wait.source], stream, 0, at)
                elif isinstance(item, Close):
                    continue
                else:
                    event, back = self.awaited(wait)
                    one = machine.Instruction("external", event, stream, back, at)
                program.append(one)
            if isinstance(item, Phase):
                op = "launch" if item.launched else "run"
                at = self.tables.certain(item.span)
                program.append(machine.Instruction(op, numbers[item.number], stream, 0, at))
                if place in events:
                    program.append(machine.Instruction("record", events[place], stream))
        return tuple(program)

    # Buckets

    def bucket(self, program: int) -> machine.Bucket:
        round, tables = self.round, self.tables
        shapes: list[tuple[int, ...] | None] = [()] * len(tables.buffers.numbers)
        for number, buffer in zip(self.buffers, round.buffers, strict=True):
            shapes[number] = buffer.shape
        regions: list[tuple[machine.Region, ...]] = [()] * len(tables.phases)
        for phase in round.phases:
            regions[self.phases[phase.number]] = tuple(a.region for a in phase.accesses)
        work: list[tuple[int, int | None]] = [(0, None)] * len(tables.phases)
        for phase in round.phases:
            cost = None if phase.cost is None else phase.cost.amount
            work[self.phases[phase.number]] = (rows_of(round, phase), cost)
        rows = [0] * len(tables.captures)
        for number, capture in zip(self.captures, round.captures, strict=True):
            rows[number] = capture.rows
        return machine.Bucket(
            sizes=tuple(round.sizes.items()),
            program=program,
            shapes=tuple(shapes),
            regions=tuple(regions),
            rows=tuple(rows),
            route=tuple((name, plain(value)) for name, value in round.route.items()),
            disjoint=tuple((self.buffers[b], one, two) for (b, one), (_, two) in round.disjoint),
            work=tuple(work),
        )


def _follows(round: Round, stands: dict[int, Edge]) -> dict[int, int]:
    """Of edges from what a stream was issued so far, the item that is the last of it.

    Where that is none of this round, or the stream has waited since, it is the first such edge.
    """
    last: dict[int, int] = {}
    found: dict[int, int] = {}
    for place, item in enumerate(round.items):
        if place in stands:
            edge = stands[place]
            if edge.source.kind == "stream":
                found[place] = last.setdefault(edge.source.number, place)
            last.pop(edge.target, None)
        elif isinstance(item, Phase) and item.capture is None:
            last[item.stream] = place
        elif isinstance(item, Open | Close):
            last[round.captures[item.capture].stream] = place
    return found


def _bounds(round: Round) -> dict[int, int]:
    """Of each place inside a capture, and of its end, which capture that is."""
    found: dict[int, int] = {}
    inside = None
    for place, item in enumerate(round.items):
        if inside is not None:
            found[place] = inside
        if isinstance(item, Open):
            inside = item.capture
        elif isinstance(item, Close):
            inside = None
    return found
