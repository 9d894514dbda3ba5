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

from plait.runtime.schedule import PHASE_OPS, Bucket, Capture, Instruction, Phase, Region, Schedule

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
        "devices/streams",
        "devices/host",
        "devices/cpu",
        "buckets",
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
    tasks: tuple[int, ...] = ()


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
        for argument, region in zip(phase.arguments, self.bucket.regions[number], strict=True):
            key = (argument.buffer, argument.rounds_back)
            if argument.kind == "reads" and key in own:
                value = f"own{phase.capture}[{own.index(key)}]"
            else:
                value = self.copy(*key, turn)
            arguments[argument.name] = value + _index(region)
        return _Call(number, phase.name, self.schedule.place_of(phase.place), arguments)

    def copy(self, buffer: int, rounds_back: int, turn: int) -> str:
        return f"b{buffer}[{(turn - rounds_back) % self.schedule.buffers[buffer].copies}]"

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

    @property
    def skips(self) -> bool:
        """Whether a rank that is idle leaves anything out."""
        inside = (phase for graph in self.graphs().values() for phase in graph.capture.phases)
        return any(self.skipped(phase) for phase in (*self.phases, *inside))

    def skipped(self, phase: int) -> bool:
        return "skip_idle" in self.schedule.phases[phase].attributes

    def issued(self, idle: bool) -> list[Instruction]:
        """The program, less what an idle rank leaves out."""
        graphs = self.graphs()
        return [
            one
            for one in self.program
            if not idle
            or not (
                (one.op in PHASE_OPS and self.skipped(one.of))
                or (one.op in ("load", "replay") and not graphs[one.of].runs_idle)
            )
        ]

    def parts(self, idle: bool = False) -> str:
        """Everything that a round runs, in issue order: phases and graphs."""
        graphs = self.graphs()
        run = []
        for one in self.issued(idle):
            if one.op == "replay":
                run.append(f"{graphs[one.of].letter(idle)}{one.of}")
            elif one.op in PHASE_OPS:
                run.append(f"p{one.of}")
        return ", ".join(dict.fromkeys(run))

    def steps(self, idle: bool = False) -> Iterator[tuple[str, str]]:
        """Every instruction as a line of Python, and what to say beside it."""
        schedule = self.schedule
        graphs = self.graphs()
        for one in self.issued(idle):
            place = f" ({schedule.place_of(one.place)})" if one.place else ""
            if one.op == "vote":
                continue  # a single rank agrees with itself: the route was chosen when it was asked
            if one.op == "rebind":
                yield self.rebind(one, graphs, idle), schedule.phases[one.of].name + place
            elif one.op in PHASE_OPS:
                turn = _turn(self.turns(schedule.phases[one.of]))
                yield f"s{one.on}.run(p{one.of}[{turn}])", schedule.phases[one.of].name + place
            elif one.op == "load":
                name = schedule.captures[one.of].name
                yield f"s{one.on}.run(l{one.of}[{_turn(graphs[one.of].loads)}])", f"load {name}"
            elif one.op == "replay":
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
        buffers = bucket.schedule.buffers
        held = [
            buffers[argument.buffer].copies
            for phase in capture.phases
            for argument in bucket.schedule.phases[phase].arguments
            if (argument.buffer, argument.rounds_back) not in capture.copied_in
        ]
        events = bucket.schedule.events
        held += [events[one.of].depth for one in capture.program if one.op == "external"]
        self.turns = lcm(*held)
        """Graphs needed: one for every combination of copies and events whose address it holds."""
        self.loads = lcm(*(buffers[buffer].copies for buffer, _ in capture.copied_in))

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
        return [self.bucket.copy(buffer, back, 0) for buffer, back in self.capture.copied_in]

    def steps(self, turn: int, idle: bool = False) -> Iterator[_Step]:
        """What is issued while it is captured, in order."""
        schedule = self.bucket.schedule
        for one in self.capture.program:
            if one.op in PHASE_OPS:
                if idle and self.bucket.skipped(one.of):
                    continue
                call = self.bucket.call(one.of, turn, self.capture.copied_in)
                tasks = self.tasks(one.of)
                yield _Step("task" if tasks else "run", one.on, call=call, tasks=tasks)
            elif one.op == "external":
                depth = schedule.events[one.of].depth
                yield _Step(one.op, one.on, f"e{one.of}[{(turn - one.rounds_back) % depth}]")
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
            for place, (buffer, back) in enumerate(self.capture.copied_in)
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
