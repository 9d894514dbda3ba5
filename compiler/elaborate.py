"""Syntax and settings to Rounds: one for every bucket, flat, every name a number.

Mistakes are collected, not thrown: a statement that is wrong is reported and left out, and what
needs its name stays silent. Limits: 1,000,000 phases unrolled, 4,096 buckets.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import product
from typing import NoReturn

from plait.compiler.declare import Buffers, Streams
from plait.compiler.round import (
    HOST,
    Access,
    Axis,
    Capture,
    Close,
    Edge,
    Item,
    Open,
    Phase,
    Round,
    Source,
)
from plait.dsl import syntax
from plait.dsl.diagnostic import Diagnostic, Label, Report, SpecError
from plait.dsl.settings import Settings
from plait.dsl.span import Span
from plait.dsl.suggest import did_you_mean
from plait.dsl.values import BROKEN, Broken, Silenced, Value, evaluate, truth, whole

MOST_PHASES = 1_000_000
MOST_BUCKETS = 4096
PHASE_ATTRIBUTES = ("host_sync",)
DECLARATIONS = syntax.Param | syntax.Flag | syntax.Dim | syntax.Stream | syntax.Buffer


def elaborate(
    pipeline: syntax.Pipeline, settings: Settings, report: Report, capture: bool = True
) -> list[Round]:
    """A Round for every bucket, smallest first.

    With `capture` false every capture takes its eager route. What is wrong goes to `report`, once.
    """
    rounds = []
    buckets = _buckets(pipeline, settings, report)
    resolved = dict(settings.resolved)  # a param that depends on a dim is no setting
    for sizes in buckets:
        found = Report()
        elaboration = _Elaboration(pipeline, settings, sizes, found, capture)
        with suppress(_Unmet):
            rounds.append(elaboration.round(resolved))
        # One mistake shows in every bucket; the smallest bucket that shows it is named.
        seen = {(d.code, d.span) for d in report.diagnostics}
        for diagnostic in found.diagnostics:
            if (diagnostic.code, diagnostic.span) not in seen:
                report.add(diagnostic)
    return rounds


def _buckets(pipeline: syntax.Pipeline, settings: Settings, report: Report) -> list[dict[str, int]]:
    """Every combination of dim sizes."""
    scope: dict[str, Value | Broken] = {}
    dims: dict[str, list[int]] = {}
    for node in pipeline.body:
        if isinstance(node, syntax.Param | syntax.Flag | syntax.Dim):
            scope[node.name.text] = BROKEN
            with _collecting(report):
                if isinstance(node, syntax.Param):
                    scope[node.name.text] = settings.param(node, scope)
                elif isinstance(node, syntax.Flag):
                    scope[node.name.text] = settings.flag(node, scope)
                else:
                    dims[node.name.text] = _sizes(node, scope)
    combinations = 1
    for sizes in dims.values():
        combinations *= len(sizes)
    if combinations > MOST_BUCKETS:
        message = f"the dims have {combinations:,} combinations; the most is {MOST_BUCKETS:,}"
        report.add(Diagnostic("PL602", message, pipeline.name.span, help="list fewer sizes"))
        return []
    return [dict(zip(dims, sizes, strict=True)) for sizes in product(*dims.values())]


def _sizes(node: syntax.Dim, scope: dict[str, Value | Broken]) -> list[int]:
    sizes = evaluate(node.sizes, scope)
    good = isinstance(sizes, list) and sizes and all(type(size) is int for size in sizes)
    if not good or sorted(set(sizes)) != sizes or sizes[0] < 1:  # type: ignore[arg-type]
        message = f"the sizes of `{node.name.text}` are not whole numbers from 1 that rise"
        help = "write them as `[1, 2, 4, 8]`"
        raise SpecError([Diagnostic("PL601", message, node.sizes.span, help=help)])
    return sizes  # type: ignore[return-value]


@contextmanager
def _collecting(report: Report) -> Iterator[None]:
    try:
        yield
    except SpecError as error:
        report.diagnostics += error.diagnostics
    except Silenced:
        pass


class _Unmet(Exception):
    """A `require` does not hold: what else is wrong at these sizes would only be said to confuse."""


@dataclass(frozen=True, eq=False, repr=False)
class _Unresolved:
    """An edge from an earlier round: what it names may stand further down."""

    number: int
    node: syntax.Fork | syntax.Join


class _Elaboration:
    def __init__(
        self,
        pipeline: syntax.Pipeline,
        settings: Settings,
        sizes: dict[str, int],
        report: Report,
        capture: bool,
    ):
        self.pipeline = pipeline
        self.settings = settings
        self.sizes = sizes
        self.report = report
        self.capturing = capture
        at = ", ".join(f"{name} = {size}" for name, size in sizes.items())
        self.where = f" at {at}" if at else ""
        self.scope: dict[str, Value | Broken] = {}
        self.streams = Streams()
        self.buffers = Buffers()
        self.phases: list[Phase] = []
        self.captures: list[Capture] = []
        self.items: list[Item | _Unresolved] = []
        self.points: dict[str, _Named] = {}
        self.failed: set[str] = set()
        """Names of phases and captures that were wrong, without their index."""
        self.edges = 0
        self.inside: int | None = None
        self.depth = 0
        self.repeated = False

    def round(self, resolved: dict[str, Value]) -> Round:
        for node in self.pipeline.body:
            with _collecting(self.report):
                self.statement(node)
        return Round(
            self.pipeline.name.text,
            resolved,
            self.sizes,
            tuple(self.streams.all),
            tuple(self.buffers.all),
            tuple(self.captures),
            tuple(self.phases),
            tuple(self.resolved_items()),
        )

    def block(self, body: Iterable[syntax.Statement]) -> None:
        self.depth += 1
        for node in body:
            with _collecting(self.report):
                self.statement(node)
        self.depth -= 1

    def statement(self, node: syntax.Statement) -> None:
        if self.depth and isinstance(node, DECLARATIONS):
            message = f"`{node.name.text}` is declared inside a block"
            self.fail("PL109", message, node.span, "declare it in the pipeline itself")
        match node:
            case syntax.Param() | syntax.Flag():
                self.value(node)
            case syntax.Dim():
                self.scope[node.name.text] = self.sizes.get(node.name.text, BROKEN)
            case syntax.Require():
                self.require(node)
            case syntax.Stream():
                self.streams.declare(node, self.scope)
            case syntax.Buffer():
                self.buffers.declare(node, self.scope, self.where)
            case syntax.Phase():
                with self.noting_failure(node.label):
                    self.phase(node)
            case syntax.Fork() | syntax.Join():
                self.edge(node)
            case syntax.Capture():
                with self.noting_failure(node.label):
                    self.capture(node)
            case syntax.For():
                self.loop(node)
            case syntax.When():
                chosen = truth(node.condition, self.scope)
                self.block(node.body if chosen else node.otherwise)

    @contextmanager
    def noting_failure(self, label: syntax.Label) -> Iterator[None]:
        try:
            yield
        except (SpecError, Silenced):
            self.failed.add(label.name.text)
            raise

    def fail(self, code: str, message: str, span: Span, help: str = "", *labels: Label) -> NoReturn:
        raise SpecError([Diagnostic(code, message, span, help=help, labels=labels)])

    # Declarations

    def value(self, node: syntax.Param | syntax.Flag) -> None:
        name = node.name.text
        if name in self.scope:
            self.fail("PL104", f"`{name}` is declared twice", node.name.span)
        self.scope[name] = BROKEN
        resolve = self.settings.param if isinstance(node, syntax.Param) else self.settings.flag
        self.scope[name] = resolve(node, self.scope)  # type: ignore[arg-type]

    def require(self, node: syntax.Require) -> None:
        if not truth(node.condition, self.scope):
            reason = f": {node.reason.value}" if node.reason else ""
            message = f"`{node.condition.span.text}` does not hold{self.where}{reason}"
            self.report.add(Diagnostic("PL110", message, node.condition.span))
            raise _Unmet

    # The round

    def loop(self, node: syntax.For) -> None:
        name = node.name.text
        if name in self.scope:
            self.fail("PL104", f"`{name}` already means something else here", node.name.span)
        first, last = whole(node.first, self.scope), whole(node.last, self.scope)
        if last - first >= MOST_PHASES:
            message = f"the loop runs {last - first + 1:,} times; the most is {MOST_PHASES:,}"
            self.fail("PL603", message, node.span)
        outer, self.repeated = self.repeated, True
        for value in range(first, last + 1):
            self.scope[name] = value
            self.block(node.body)
        self.repeated = outer
        self.scope.pop(name, None)

    def phase(self, node: syntax.Phase) -> None:
        if len(self.phases) >= MOST_PHASES:
            message = f"the round has more than {MOST_PHASES:,} phases"
            self.fail("PL603", message, node.label.span)
        for attribute in node.attributes:
            if attribute.text not in PHASE_ATTRIBUTES:
                known = did_you_mean(attribute.text, PHASE_ATTRIBUTES)
                message = f"`{attribute.text}` is not an attribute of a phase"
                self.fail("PL107", message, attribute.span, known)
        stream = self.streams.find(node.stream)
        if self.inside is not None and stream not in (HOST, self.captures[self.inside].stream):
            capture = self.captures[self.inside]
            message = f"`{node.label.name.text}` is on another stream than its capture"
            help = f"put it on {self.streams.all[capture.stream].name}, or outside the capture"
            self.fail("PL504", message, node.stream.span, help)
        accesses, rows = self.clauses(node.clauses)
        self.distinct_arguments(accesses)
        self.reachable(stream, accesses)
        name, index = self.label(node.label)
        number = len(self.phases)
        self.point(name, "phase", number, node.label.span)
        attributes = frozenset(attribute.text for attribute in node.attributes)
        phase = Phase(
            number,
            name,
            node.label.name.text,
            index,
            stream,
            tuple(accesses),
            node.label.span,
            node.span,
            attributes,
            self.inside,
            rows,
            self.repeated,
        )
        self.phases.append(phase)
        self.items.append(phase)

    def reachable(self, stream: int, accesses: list[Access]) -> None:
        """Pinned memory is for copies on streams: the host never knows what it holds."""
        for access in accesses:
            buffer = self.buffers.all[access.buffer]
            if stream == HOST and buffer.place == "pinned":
                message = f"a host phase touches `{buffer.name}`, which only streams may"
                self.fail("PL114", message, access.span, "declare the buffer `on host`")

    def clauses(self, nodes: Iterable[syntax.Clause]) -> tuple[list[Access], int | None]:
        accesses: list[Access] = []
        rows = None
        for node in nodes:
            match node:
                case syntax.Accesses():
                    accesses += [self.access(item, node.kind) for item in node.items]
                case syntax.Rows():
                    rows = self.row_count(node.count)
                case syntax.ClauseWhen():
                    if truth(node.condition, self.scope):
                        more, inner = self.clauses(node.clauses)
                        accesses += more
                        rows = inner if inner is not None else rows
        return accesses, rows

    def access(self, node: syntax.Access, kind: str) -> Access:
        number = self.buffers.find(node.buffer)
        argument = (node.argument or node.buffer).text
        region = None if node.region is None else self.region(node, number)
        if kind != "reads" and node.rounds_back:
            message = f"`{node.span.text}` {kind} a value of an earlier round"
            self.fail("PL111", message, node.span, "only `reads` may say `prev`")
        if self.buffers.all[number].scratch and kind != "updates":
            message = (
                f"`{node.buffer.text}` is scratch, which holds nothing for a phase that {kind} it"
            )
            help = f"say `updates {node.buffer.text}`, or take `scratch` off the buffer"
            self.fail("PL113", message, node.span, help)
        return Access(number, kind, argument, node.span, node.rounds_back, region)  # type: ignore[arg-type]

    def region(self, node: syntax.Access, number: int) -> tuple[Axis, ...]:
        buffer = self.buffers.all[number]
        assert node.region is not None
        shape = buffer.shape
        if shape is not None and len(node.region) != len(shape):
            message = f"`{buffer.name}` has {len(shape)} axes, and the region {len(node.region)}"
            self.fail("PL601", message, node.span, "write `_` for a whole axis")
        axes: list[Axis] = []
        for place, axis in enumerate(node.region):
            size = None if shape is None else shape[place]
            axes.append(self.axis(axis, size, buffer.name))
        return tuple(axes)

    def axis(self, node: syntax.Axis, size: int | None, buffer: str) -> Axis:
        if isinstance(node, syntax.Whole):
            return None
        if isinstance(node, syntax.Range):
            first, last = whole(node.first, self.scope), whole(node.last, self.scope)
            fits = 0 <= first <= last and (size is None or last < size)
            axis: Axis = (first, last + 1)
        else:
            axis = first = whole(node, self.scope)
            fits = first >= 0 and (size is None or first < size)
        if not fits:
            has = "" if size is None else f", which has {size} entries counted from 0"
            message = f"`{node.span.text}` is outside this axis of `{buffer}`{has}{self.where}"
            self.fail("PL601", message, node.span)
        return axis

    def distinct_arguments(self, accesses: list[Access]) -> None:
        seen: dict[str, Access] = {}
        for access in accesses:
            if access.argument in seen:
                message = f"two accesses give the phase an argument `{access.argument}`"
                help = "name one with `as`, or say `updates` for a buffer both read and written"
                first = Label(seen[access.argument].span, "the first")
                self.fail("PL108", message, access.span, help, first)
            seen[access.argument] = access

    def row_count(self, node: syntax.Expression) -> int:
        rows = whole(node, self.scope)
        if rows < 1:
            self.fail("PL601", f"`{node.span.text}` is {rows} rows{self.where}", node.span)
        return rows

    def label(self, node: syntax.Label) -> tuple[str, int | None]:
        if node.index is None:
            return node.name.text, None
        index = whole(node.index, self.scope)
        if index < 0:
            self.fail("PL601", f"an index counts from 0; this is {index}", node.index.span)
        return f"{node.name.text}[{index}]", index

    def point(self, name: str, kind: str, number: int, span: Span) -> None:
        """Notes what an edge may name."""
        if name in self.points or name in self.streams.by_name:
            first = self.points.get(name)
            labels = (Label(first.span, "the first"),) if first else ()
            message = f"`{name}` already names a {first.kind if first else 'stream'}"
            self.fail("PL104", message, span, "phases, captures and streams share names", *labels)
        self.points[name] = _Named(kind, number, number, span)

    def capture(self, node: syntax.Capture) -> None:
        stream = self.streams.find(node.stream)
        rows = self.row_count(node.rows)
        name, _ = self.label(node.label)
        if stream == HOST:
            self.fail("PL505", "the host cannot be captured", node.stream.span, "name a stream")
        if self.inside is not None:
            outer = Label(self.captures[self.inside].span, "the capture it stands in")
            message = f"the capture `{name}` stands inside another"
            self.fail("PL505", message, node.label.span, "close the first one before it", outer)
        wanted = node.condition is None or truth(node.condition, self.scope)
        first = len(self.phases)
        if self.capturing and wanted:
            self.graph(node, name, stream, rows)
        else:
            self.block(node.body)
            self.eager_point(name, self.phases[first:], node.label.span)

    def graph(self, node: syntax.Capture, name: str, stream: int, rows: int) -> None:
        number = len(self.captures)
        first = len(self.phases)
        self.captures.append(Capture(number, name, stream, rows, node.label.span, node.span))
        self.items.append(Open(number))
        self.inside = number
        self.block(node.body)
        self.inside = None
        if len(self.phases) == first:  # nothing in it at this setting: no graph
            self.items.pop()
            self.captures.pop()
            return
        self.items.append(Close(number))
        self.point(name, "capture", number, node.label.span)

    def eager_point(self, name: str, phases: list[Phase], span: Span) -> None:
        """Lets an edge name a capture that runs eagerly: its end, and the end of its last load."""
        device = [phase for phase in phases if phase.stream != HOST]
        if not device:
            return
        written: set[int] = set()
        loaded = device[0]
        for phase in device:
            if any(a.reads and a.buffer not in written for a in phase.accesses):
                loaded = phase
            written |= {a.buffer for a in phase.accesses if a.writes}
        self.point(name, "phase", device[-1].number, span)
        self.points[name] = _Named("phase", device[-1].number, loaded.number, span, eager=True)

    # Edges

    def edge(self, node: syntax.Fork | syntax.Join) -> None:
        if self.inside is not None:
            message = f"`{node.span.text}` stands inside a capture"
            inside = Label(self.captures[self.inside].span, "the capture")
            self.fail("PL503", message, node.span, "write it outside the braces", inside)
        self.edges += 1
        unresolved = _Unresolved(self.edges - 1, node)
        if node.point.rounds_back:
            self.items.append(unresolved)
        elif (edge := self.resolved(unresolved)) is not None:
            self.items.append(edge)

    def resolved_items(self) -> Iterator[Item]:
        for item in self.items:
            if not isinstance(item, _Unresolved):
                yield item
                continue
            with _collecting(self.report):
                if (edge := self.resolved(item)) is not None:
                    yield edge

    def resolved(self, unresolved: _Unresolved) -> Edge | None:
        """The edge, or None when both its ends are one stream under two names."""
        node = unresolved.node
        name = node.stream if isinstance(node, syntax.Fork) else node.into
        target = self.streams.find(name)
        source = self.source(node.point)
        if source.kind == "stream":
            if source.rounds_back:
                message = "a stream has no earlier round"
                self.fail("PL112", message, node.point.span, "name a phase or a capture")
            if node.point.label.name.text == name.text:
                message = f"`{name.text}` waits for itself"
                self.fail("PL402", message, node.span, "a stream always goes on in order")
            if source.number in (target, HOST):
                return None
        word = "fork" if isinstance(node, syntax.Fork) else "join"
        return Edge(unresolved.number, word, source, target, node.span)

    def source(self, point: syntax.Point) -> Source:
        name, _ = self.label(point.label)
        member = point.member
        if member is not None and member.text != "loaded":
            message = f"a capture has no `{member.text}`"
            self.fail("PL112", message, member.span, "`loaded` is all an edge may name of it")
        if name in self.points:
            named = self.points[name]
            if member is not None and not (named.kind == "capture" or named.eager):
                self.fail(
                    "PL112", f"`{name}` is a {named.kind}; only a capture is loaded", point.span
                )
            kind, number = named.kind, named.number
            if member is not None:
                kind, number = ("phase" if named.eager else "loaded"), named.loaded
            elif kind == "phase" and (graph := self.phases[number].capture) is not None:
                kind, number = "capture", graph  # seen from outside, it ends when its graph does
            return Source(kind, number, point.rounds_back)  # type: ignore[arg-type]
        if name in self.streams.by_name and member is None:
            return Source("stream", self.streams.by_name[name], point.rounds_back)
        if point.label.name.text in {*self.failed, *self.streams.declared}:
            raise Silenced
        known = did_you_mean(name, [*self.points, *self.streams.by_name])
        message = f"no stream, phase or capture `{name}` stands above this line"
        raise SpecError([Diagnostic("PL101", message, point.span, help=known)])


@dataclass(frozen=True, eq=False, repr=False)
class _Named:
    """What an edge may name: a phase or capture, and what its `loaded` is."""

    kind: str
    number: int
    loaded: int
    span: Span
    eager: bool = False
