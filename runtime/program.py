"""A Schedule as straight-line Python: the text that the executor runs.

Everything in it is reached by number. Names of the spec appear in string literals and comments only,
and the schedule reader lets no name through that is not an identifier, so nothing that a schedule
says can become code.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from math import lcm
from pathlib import Path
from typing import Any

from plait.runtime.program_padding import Filled, Padding, Part
from plait.runtime.schedule import (
    PHASE_OPS,
    Argument,
    Bucket,
    Capture,
    Instruction,
    Phase,
    Region,
    Schedule,
)

HERE = Path(__file__).parent
CARRIED = tuple(
    f"{part}.py"
    for part in (
        "devices/abilities",
        "devices/job",
        "devices/refusals",
        "devices/recording",
        "devices/memory",
        "devices/graph",
        "devices/events",
        "devices/pace",
        "devices/one_thread",
        "devices/streams",
        "devices/host",
        "devices/tensors",
        "devices/host_memory",
        "devices/cpu",
        "buckets",
        "padding",
        "faults",
        "runner",
    )
)
"""What a program needs to run alone, in the order in which they build on each other."""


def program_text(schedule: Schedule) -> str:
    """The program: tables, and a `bind` function for every bucket that returns its round."""
    return _render(
        "program.py.j2",
        schedule=schedule,
        settings=json.dumps(dict(schedule.settings)),
        largest=list(schedule.largest()),
        external=schedule.external_events(),
        later=schedule.read_later(),
        kept=_kept(schedule),
        buckets=[_Bucket(schedule, bucket) for bucket in schedule.buckets],
    )


def standalone_text(schedule: Schedule) -> str:
    """The program with all it needs but torch: a module that has `bind(bodies, opaque=...)`."""
    carried = [_without_own_imports((HERE / path).read_text(encoding="utf-8")) for path in CARRIED]
    return _render("standalone.py.j2", program=program_text(schedule), carried=carried)


def _render(template: str, **values: Any) -> str:
    return _environment().get_template(template).render(**values)


@cache
def _environment() -> Any:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(HERE),
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        undefined=StrictUndefined,
    )
    environment.filters["literal"] = ascii
    environment.globals["numbered"] = _numbered
    return environment


def _kept(schedule: Schedule) -> dict[str, list[str]]:
    """Of every phase, by name, the buffers it writes that a later round may read."""
    kept: dict[str, list[str]] = {}
    for phase in schedule.phases:
        names = kept.setdefault(phase.name, [])
        for argument in phase.arguments:
            buffer = schedule.buffers[argument.buffer]
            lasts = argument.kind != "reads" and (buffer.carried or buffer.copies > 1)
            if lasts and buffer.name not in names:
                names.append(buffer.name)
    return kept


def _is_own(module: str) -> bool:
    return module == "__future__" or module.split(".")[0] == "plait"


def _numbered(letter: str, table: tuple[Any, ...]) -> str:
    return ", ".join(f"{letter}{number}" for number in range(len(table)))


def _without_own_imports(text: str) -> str:
    """A module's text without its docstring, its imports from Plait and __future__, and those for types."""
    lines = text.splitlines()
    for node in ast.parse(text).body:
        own = isinstance(node, ast.ImportFrom) and _is_own(node.module or "")
        docstring = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        for_types = isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        if own or docstring or for_types:
            first, last = node.lineno - 1, node.end_lineno or node.lineno
            lines[first:last] = [""] * (last - first)
    return "\n".join(lines).strip() + "\n"


@dataclass(frozen=True)
class _Step:
    """One step of a capture: a call, or the expression of an event."""

    op: str
    on: int
    what: str = ""
    call: _Call | None = None
    numbers: tuple[int, ...] = ()
    """Buffers, of a task; how many rounds back, of an event outside."""


@dataclass(frozen=True)
class _Call:
    """A call of a phase's body: argument names, and the expressions of what they are."""

    number: int
    name: str
    place: str
    arguments: dict[str, str]


class _Bucket:
    """One bucket as the template reads it. Expressions are made of numbers alone."""

    def __init__(self, schedule: Schedule, bucket: Bucket):
        self.schedule = schedule
        self.bucket = bucket
        self.sizes = ascii(dict(bucket.sizes))
        self.route = ascii(dict(bucket.route))
        self.name = bucket.name
        self.program = schedule.program_of(bucket)
        self.phases = {one.of for one in self.program if one.op in PHASE_OPS}
        self.captures = {one.of for one in self.program if one.op == "replay"}
        self.padding = Padding(schedule, bucket)

    def views(self) -> Iterator[tuple[int, str]]:
        """Of every buffer, the expression of its copies at this bucket."""
        largest = list(self.schedule.largest())
        for number, buffer in enumerate(self.schedule.buffers):
            shape, full = self.bucket.shapes[number], largest[number]
            if shape == ():
                continue  # it has no part in this bucket
            if buffer.opaque or shape is None or full is None:
                yield number, f"opaque({number}, {self.sizes}, {buffer.copies})"
            elif shape == full:
                yield number, f"B[{number}]"
            else:
                cuts = [":" if s == f else f":{s}" for s, f in zip(shape, full, strict=True)]
                yield number, f"[x[{', '.join(cuts)}] for x in B[{number}]]"

    def eager(self) -> list[tuple[int, list[_Call]]]:
        """Every phase outside captures, with one call for each of its turns."""
        return [
            (number, [self.call(number, turn) for turn in range(self.turns(phase))])
            for number, phase in enumerate(self.schedule.phases)
            if number in self.phases
        ]

    def turns(self, phase: Phase) -> int:
        """After how many rounds a phase meets the same copies again."""
        return lcm(*(self.schedule.buffers[a.buffer].copies for a in phase.arguments))

    def call(self, number: int, turn: int, own: tuple[tuple[int, int], ...] = ()) -> _Call:
        """`own`: what the capture around the phase has a copy of its own of."""
        phase = self.schedule.phases[number]
        arguments = {}
        copied = self.filled(number).own
        regions = self.bucket.regions[number]
        for place, (argument, region) in enumerate(zip(phase.arguments, regions, strict=True)):
            key = (argument.buffer, argument.rounds_back)
            if place in copied:
                arguments[argument.name] = f"q{number}[{list(copied).index(place)}]"
                continue
            if self.taken(number, argument, own):
                value = f"own{phase.capture}[{own.index(key)}]"
            else:
                value = self.copy(*key, turn)
            arguments[argument.name] = value + _index(region)
        return _Call(number, phase.name, self.schedule.place_of(phase.place), arguments)

    def taken(self, phase: int, argument: Argument, own: tuple[tuple[int, int], ...]) -> bool:
        """Whether a captured phase is given the copy that its capture has, and not the buffer."""
        key = (argument.buffer, argument.rounds_back)
        newer = (phase, argument.name) in self.padding.newer
        return argument.kind == "reads" and key in own and not newer

    def copy(self, buffer: int, rounds_back: int, turn: int) -> str:
        return f"b{buffer}[{(turn - rounds_back) % self.schedule.buffers[buffer].copies}]"

    def filled(self, number: int) -> Filled:
        """What is filled around a phase; nothing around one in a capture."""
        return self.padding.phases.get(number, Filled())

    def copied(self, number: int, turn: int) -> list[str]:
        """What a phase has copies of, for rows of its own that only pad."""
        regions = self.bucket.regions[number]
        return [
            self.copy(one.buffer, one.rounds_back, turn) + _index(regions[place])
            for place, one in self.filled(number).own.items()
        ]

    def fill(self, parts: list[Part], turn: int, own: str) -> str:
        """The parts of a fill, as a list of what it takes. `own` has those that are copies."""
        written = []
        for part in parts:
            tensor = f"{own}[{part.own}]"
            if part.own is None:
                tensor = self.copy(part.buffer, part.rounds_back, turn) + _index(part.region)
            pad = self.schedule.buffers[part.buffer].pad
            written.append(f"({tensor}, {pad!r}, {part.axes!r}, {part.rounds_back})")
        return f"[{', '.join(written)}]"

    def graphs(self) -> dict[int, _Graph]:
        captures = self.schedule.captures
        return {number: _Graph(self, number, captures[number]) for number in sorted(self.captures)}

    def all_graphs(self) -> str:
        """Of every capture of the schedule, its graphs; none where it has no part in this bucket."""
        graphs = self.graphs()
        shown = [
            "[]" if n not in graphs else f"[*g{n}, *i{n}]" if graphs[n].idle else f"g{n}"
            for n in range(len(self.schedule.captures))
        ]
        return ", ".join(shown)

    def all_inputs(self) -> str:
        """Of every capture of the schedule, what its graphs take in."""
        captures = range(len(self.schedule.captures))
        return ", ".join(f"own{n}" if n in self.captures else "[]" for n in captures)

    def parts(self) -> str:
        """Everything that a round runs, in issue order: phases and graphs."""
        letters = {"replay": "g"} | dict.fromkeys(PHASE_OPS, "p")
        run = [f"{letters[one.op]}{one.of}" for one in self.program if one.op in letters]
        return ", ".join(dict.fromkeys(run))

    @property
    def skips(self) -> bool:
        """Whether a rank that is idle leaves anything out."""
        inside = (phase for graph in self.graphs().values() for phase in graph.capture.phases)
        return any(self.skipped(phase) for phase in (*self.phases, *inside))

    def skipped(self, phase: int) -> bool:
        return "skip_idle" in self.schedule.phases[phase].attributes

    def steps(self, idle: bool = False) -> Iterator[tuple[str, str]]:
        """Every instruction as a line of Python, and what to say beside it."""
        schedule = self.schedule
        graphs = self.graphs()
        for one in self.program:
            if idle and one.op in PHASE_OPS and self.skipped(one.of):
                continue
            if idle and one.op in ("load", "replay") and not graphs[one.of].runs_idle:
                continue
            place = f" ({schedule.place_of(one.place)})" if one.place else ""
            if one.op == "vote":
                continue  # a single rank agrees with itself: the route was chosen when it was asked
            if one.op in PHASE_OPS:
                turn = _turn(self.turns(schedule.phases[one.of]))
                name, filled = schedule.phases[one.of].name, self.filled(one.of)
                if filled.own:
                    yield f"s{one.on}.run(c{one.of}[{turn}])", f"copies for {name}"
                if filled.before:
                    yield f"f{one.of}[{turn}](s{one.on}, live)", f"pad before {name}"
                run = f"s{one.on}.run(p{one.of}[{turn}])"
                yield self.rebind(one, graphs, idle) if one.op == "rebind" else run, name + place
                if filled.after:
                    yield f"a{one.of}[{turn}](s{one.on}, live)", f"pad behind {name}"
            elif one.op == "load":
                yield from graphs[one.of].loading(one.on)
            elif one.op == "replay":
                if not schedule.captures[one.of].copied_in:
                    yield from graphs[one.of].loading(one.on)
                name = schedule.captures[one.of].name
                graph = graphs[one.of]
                replayed = f"{graph.letter(idle)}{one.of}[{_turn(graph.turns)}]"
                yield f"s{one.on}.replay({replayed})", f"replay {name}{place}"
            else:
                event = schedule.events[one.of]
                turn = _turn(event.depth, one.rounds_back)
                op = "record" if one.op == "record" else "wait"
                yield f"s{one.on}.{op}(e{one.of}[{turn}])", event.name + place

    def rebind(self, one: Instruction, graphs: dict[int, _Graph], idle: bool) -> str:
        """A phase that writes parameters of captured tasks, and the graphs that have them."""
        phase = self.schedule.phases[one.of]
        written = {argument.buffer for argument in phase.arguments if argument.kind != "reads"}
        tasks = [
            f"({graph.letter(idle)}{number}[{_turn(graph.turns)}], {buffer})"
            for number, graph in graphs.items()
            if graph.runs_idle or not idle
            for buffer in sorted(
                written & {b for p in graph.capture.phases for b in graph.tasks(p)}
            )
        ]
        job = f"p{one.of}[{_turn(self.turns(phase))}]"
        return f"s{one.on}.rebind({job}, [{', '.join(tasks)}])"


class _Graph:
    """One capture of a bucket as the template reads it."""

    def __init__(self, bucket: _Bucket, number: int, capture: Capture):
        self.bucket = bucket
        self.number = number
        self.capture = capture
        self.place = bucket.schedule.place_of(capture.place)
        self.copied = (*capture.copied_in, *bucket.padding.taken[number])
        """What its load copies: what the schedule says, and what it pads."""
        self.fills = bucket.padding.captures[number].before
        buffers = bucket.schedule.buffers
        held = [
            buffers[argument.buffer].copies
            for phase in capture.phases
            for argument in bucket.schedule.phases[phase].arguments
            if not bucket.taken(phase, argument, self.copied)
        ]
        events = bucket.schedule.events
        held += [events[one.of].depth for one in capture.program if one.op == "external"]
        self.turns = lcm(*held)
        """Graphs needed: one for every combination of copies and events whose address it holds."""
        self.loads = lcm(*(buffers[buffer].copies for buffer, _ in self.copied))
        self.padded = lcm(*(buffers[part.buffer].copies for part in self.fills))
        own = len(bucket.schedule.pools) + number
        self.pool = own if capture.pool is None else capture.pool
        """A capture of no pool has one of its own, for its graphs in every bucket."""

    @property
    def idle(self) -> bool:
        """Whether a rank that is idle has a graph of its own, with less in it."""
        return self.runs_idle and any(map(self.bucket.skipped, self.capture.phases))

    @property
    def runs_idle(self) -> bool:
        """Whether anything is left of it for a rank that is idle."""
        return not all(map(self.bucket.skipped, self.capture.phases))

    @property
    def variants(self) -> tuple[bool, ...]:
        """For a rank that is busy, and for one that is idle where that is another graph."""
        return (False, True) if self.idle else (False,)

    def letter(self, idle: bool) -> str:
        return "i" if idle and self.idle else "g"

    def own(self) -> list[str]:
        return [self.bucket.copy(buffer, back, 0) for buffer, back in self.copied]

    def loading(self, stream: int) -> Iterator[tuple[str, str]]:
        """The lines that give it its inputs, and what to say beside them."""
        name = self.capture.name
        if self.copied:
            yield f"s{stream}.run(l{self.number}[{_turn(self.loads)}])", f"load {name}"
        if self.fills:
            turn = _turn(self.padded)
            yield f"fg{self.number}[{turn}](s{stream}, live)", f"pad what {name} takes in"

    def steps(self, turn: int, idle: bool = False) -> Iterator[_Step]:
        """What is issued while it is captured, in order."""
        schedule = self.bucket.schedule
        for one in self.capture.program:
            if one.op in PHASE_OPS:
                if idle and self.bucket.skipped(one.of):
                    continue
                call = self.bucket.call(one.of, turn, self.copied)
                tasks = self.tasks(one.of)
                yield _Step("task" if tasks else "run", one.on, call=call, numbers=tasks)
            elif one.op == "external":
                depth = schedule.events[one.of].depth
                event = f"e{one.of}[{(turn - one.rounds_back) % depth}]"
                yield _Step(one.op, one.on, event, numbers=(one.rounds_back,))
            else:
                yield _Step(one.op, one.on, str(one.of))

    def tasks(self, phase: int) -> tuple[int, ...]:
        """The buffers that hold parameters of a captured phase."""
        schedule = self.bucket.schedule
        read = {a.buffer for a in schedule.phases[phase].arguments if a.kind == "reads"}
        return tuple(sorted(number for number in read if schedule.buffers[number].task))

    def written(self, turn: int) -> list[str]:
        """Everything the capture writes, to be put back after it was captured."""
        phases = [self.bucket.schedule.phases[phase] for phase in self.capture.phases]
        found = [
            self.bucket.copy(argument.buffer, argument.rounds_back, turn)
            for phase in phases
            for argument in phase.arguments
            if argument.kind != "reads"
        ]
        return list(dict.fromkeys(found))

    def loaded(self, turn: int) -> list[tuple[str, str]]:
        """What a load copies, as pairs: into, out of."""
        return [
            (f"own{self.number}[{place}]", self.bucket.copy(buffer, back, turn))
            for place, (buffer, back) in enumerate(self.copied)
        ]


def _turn(count: int, rounds_back: int = 0) -> str:
    if count == 1:
        return "0"
    return f"(r - {rounds_back}) % {count}" if rounds_back else f"r % {count}"


def _index(region: Region) -> str:
    if not region:
        return ""
    axes = [
        ":" if axis is None else f"{axis[0]}:{axis[1]}" if isinstance(axis, tuple) else f"{axis}"
        for axis in region
    ]
    return f"[{', '.join(axes)}]"
