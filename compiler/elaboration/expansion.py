"""One route's expansion: each statement where it stands, every name a number.

Mistakes are collected, not thrown: a statement that is wrong is reported and left out, and what
needs its name stays silent. Limits: calls 64 deep, phases by `limit.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

from plait.compiler.elaboration.calls import Calls
from plait.compiler.elaboration.clauses import Clauses, point_name
from plait.compiler.elaboration.declare import Tables
from plait.compiler.elaboration.edges import AskedEdge, Edges
from plait.compiler.elaboration.frame import Around, Frame
from plait.compiler.elaboration.limit import Limit, TooMuch
from plait.compiler.elaboration.scope import Named, Scope
from plait.compiler.round import (
    HOST,
    Capture,
    Choice,
    Close,
    Edge,
    Item,
    Open,
    Phase,
    Round,
    Source,
    Vote,
    Word,
)
from plait.compiler.routes import Route
from plait.compiler.rows.extent import Extent, of_dim
from plait.dsl import syntax
from plait.dsl.diagnostic import Diagnostic, Label, Report, SpecError
from plait.dsl.library import Library
from plait.dsl.settings import Settings
from plait.dsl.span import Span
from plait.dsl.suggest import did_you_mean
from plait.dsl.values import BROKEN, Broken, Silenced, Value, evaluate, truth, whole
from plait.dsl.words import PHASE_ATTRIBUTES

MOST_CALLS = 64
PIPELINE_ONLY = syntax.Flag | syntax.Dim | syntax.Guard | syntax.Group | syntax.Pool
DECLARATIONS = PIPELINE_ONLY | syntax.Param | syntax.Stream | syntax.Buffer


class Unmet(Exception):
    """A `require` does not hold: what else is wrong at these sizes would only be said to confuse."""


class Unasked(Exception):
    """A guard that is not asked on this route has no second answer."""


class Expansion:
    def __init__(
        self,
        pipeline: syntax.Pipeline,
        library: Library,
        settings: Settings,
        route: Route,
        report: Report,
        capture: bool,
        labels: frozenset[str],
        limit: Limit,
        homes: dict[str, tuple[str, str]],
    ):
        self.pipeline = pipeline
        self.settings = settings
        self.route = route
        self.report = report
        self.capturing = capture
        self.limit = limit
        self.scope = Scope(library)
        self.scope.numbers["stream"]["host"] = HOST
        self.tables = Tables()
        self.phases: list[Phase] = []
        self.captures: list[Capture] = []
        self.items: list[Item | AskedEdge] = []
        self.disjoint: list = []
        self.choices: list[Choice] = []
        self.edges = Edges(self.tables, self.phases, self.captures, labels, homes)
        self.calls = Calls()
        self.edge_count = 0
        self.inside: int | None = None
        self.eager: dict[str, int] = {}
        """The stream of each capture that is being expanded eagerly, by its name."""
        self.forked: set[int] = set()
        """Streams that the capture being expanded has forked."""
        self.in_flight: dict[int, Span] = {}
        """Launches that nothing awaits yet."""
        self.awaited_at: set[Span] = set()
        """Launches that something awaits."""
        self.asked: dict[str, bool] = {}
        self.depth = 0
        self.frame = Frame(None, None, self.scope)
        self.stages: list[list[Item | AskedEdge]] | None = None
        """Of the interleaved call that is being expanded."""
        self.woven: Span | None = None
        """The statement that interleaves the call that begins."""
        self.braces: Span | None = None
        """The statement of the capture that is being expanded."""
        self.within = ""
        """Its name."""
        self.widths: dict[str, int] = {}
        """Rows of captures by name, graphs or not."""
        self.around_stages: int | None = None
        """The capture that its interleave stands in."""
        settled = {**route.sizes, **route.params}
        at = ", ".join(f"{name} = {value}" for name, value in settled.items())
        self.where = f" at {at}" if at else ""

    def round(self, resolved: dict[str, Value]) -> Round:
        for node in self.pipeline.body:
            with self.collecting():
                self.statement(node)
        phases, items = _in_text_order(self.phases, list(self.resolved_items()))
        return Round(
            self.pipeline.name.text,
            resolved,
            self.route.sizes,
            {**self.route.params, **self.asked},
            tuple(self.tables.streams),
            tuple(self.tables.buffers),
            tuple(self.captures),
            phases,
            items,
            tuple(self.tables.groups),
            tuple(self.tables.pools),
            tuple(self.disjoint),
            tuple(self.choices),
            self.widths,
        )

    @contextmanager
    def collecting(self) -> Iterator[None]:
        try:
            yield
        except TooMuch:
            raise
        except SpecError as error:
            self.report.diagnostics += error.diagnostics
        except Silenced:
            pass

    def block(self, nodes: tuple[syntax.Statement, ...], around: Around, value: int = 0) -> None:
        assert around is not None
        self.depth += 1
        outer = self.frame
        self.frame = Frame(outer, around, self.scope, value, around.span)
        for node in nodes:
            with self.collecting():
                self.statement(node)
        self.frame = outer
        self.depth -= 1

    def statement(self, node: syntax.Statement) -> None:
        self.limit.take(node)
        if self.depth and isinstance(node, DECLARATIONS):
            message = "declarations stand in the pipeline or module itself, not inside a block"
            fail("PL109", message, node.span, "move it out of the braces")
        if self.scope.caller is not None and isinstance(node, PIPELINE_ONLY):
            fail("PL109", "this stands in a pipeline, not in a module", node.span)
        match node:
            case syntax.Param() | syntax.Flag():
                self.value(node)
            case syntax.Require():
                self.require(node)
            case syntax.Dim():
                self.dim(node)
            case syntax.Guard():
                self.guard(node)
            case syntax.Group():
                self.tables.group(node, self.scope)
            case syntax.Pool():
                self.tables.pool(node, self.scope)
            case syntax.Stream():
                self.tables.stream(node, self.scope)
            case syntax.Buffer():
                self.tables.buffer(node, self.scope, self.where)
            case syntax.Assume():
                self.assume(node)
            case syntax.Phase():
                with self.noting_failure(node.label):
                    self.phase(node)
            case syntax.Await():
                self.edge("await", node.point, node.stream, node.span)
            case syntax.Fork():
                self.edge("fork", node.point, node.stream, node.span)
            case syntax.Join():
                self.edge("join", node.point, node.into, node.span)
            case syntax.Capture():
                with self.noting_failure(node.label):
                    self.capture(node)
            case syntax.Call():
                self.call(node)
            case syntax.Interleave():
                self.interleave(node)
            case syntax.Yield():
                self.stage_end(node)
            case syntax.For():
                self.loop(node)
            case syntax.When():
                chosen = truth(node.condition, self.scope.values)
                self.block(node.body if chosen else node.otherwise, node, int(chosen))

    @contextmanager
    def noting_failure(self, label: syntax.Label) -> Iterator[None]:
        try:
            yield
        except (SpecError, Silenced):
            self.scope.failed.add(label.name.text)
            raise

    # Values

    def value(self, node: syntax.Param | syntax.Flag) -> None:
        scope, name = self.scope, node.name.text
        if name in scope.values:
            fail("PL104", f"`{name}` is declared twice", node.name.span, "rename one of them")
        scope.values[name] = BROKEN
        if isinstance(node, syntax.Flag):
            scope.values[name] = self.settings.flag(node, scope.values)
        elif scope.caller is not None:
            if node.choices is not None:
                fail("PL109", "a run-time param stands in a pipeline, not in a module", node.span)
            scope.values[name] = evaluate(node.value, scope.values)
            scope.size(name, node.value)
        elif name in self.route.params:
            value = scope.values[name] = self.route.params[name]
            self.choices.append(Choice(name, value, node.name.span, kind="param"))
        else:
            scope.values[name] = self.settings.param(node, scope.values)
            scope.size(name, node.value)

    def dim(self, node: syntax.Dim) -> None:
        name = node.name.text
        if name in self.scope.values:
            fail("PL104", f"`{name}` is declared twice", node.name.span, "rename one of them")
        size = self.scope.values[name] = self.route.sizes.get(name, BROKEN)
        group = self.agreed_by(node)
        voted = node.agreement is not None and not node.agreement.same
        if not isinstance(size, Broken):
            self.scope.sized[name] = of_dim(node, size, self.scope.values)
            at = _end(node.sizes.span) if node.agreement is None else node.agreement.group.span
            self.choices.append(Choice(name, size, node.name.span, group, voted, "dim", at))
        if voted:
            self.vote(name, group, node.span)

    def guard(self, node: syntax.Guard) -> None:
        name, values = node.name.text, self.scope.values
        if name in values:
            fail("PL104", f"`{name}` is declared twice", node.name.span, "rename one of them")
        values[name] = BROKEN
        group = self.agreed_by(node)
        voted = node.agreement is not None and not node.agreement.same
        asked = node.condition is None or truth(node.condition, values)
        if not asked:
            assert node.otherwise is not None
            value = values[name] = truth(node.otherwise, values)
            if not self.route.guards[name]:
                raise Unasked
        else:
            value = values[name] = self.asked[name] = self.route.guards[name]
            self.vote(name, group if voted else None, node.span)
        at = _end(node.name.span) if node.agreement is None else node.agreement.group.span
        choice = Choice(name, value, node.name.span, group, voted, "guard", at, asked)
        self.choices.append(choice)

    def agreed_by(self, node: syntax.Dim | syntax.Guard) -> int | None:
        return None if node.agreement is None else self.scope.find("group", node.agreement.group)

    def vote(self, name: str, group: int | None, span: Span) -> None:
        """Adds a vote; one that follows another of its group on the next line is part of it."""
        last = self.items[-1] if self.items else None
        if isinstance(last, Vote) and last.group == group:
            self.items[-1] = Vote((*last.names, name), group, last.span.to(span))
        else:
            self.items.append(Vote((name,), group, span))

    def require(self, node: syntax.Require) -> None:
        if not truth(node.condition, self.scope.values):
            reason = f": {node.reason.value}" if node.reason else ""
            message = f"`{node.condition.span.text}` does not hold{self.where}{reason}"
            help = "its author rules these values out: take others, or change what is required"
            self.report.add(Diagnostic("PL110", message, node.condition.span, help=help))
            raise Unmet

    def assume(self, node: syntax.Assume) -> None:
        if not node.reason.value.strip():
            fail("PL117", "an assumption needs its reason", node.reason.span, "say why it holds")
        clauses = self.clauses()
        accesses = [clauses.access(access, "reads") for access in node.accesses]
        if len({access.buffer for access in accesses}) > 1:
            message = "different buffers never meet; an assumption is about parts of one"
            fail("PL117", message, node.span)
        parts = [(access.buffer, access.region) for access in accesses]
        self.disjoint += [(a, b) for place, a in enumerate(parts) for b in parts[:place]]

    # Phases

    def clauses(self) -> Clauses:
        return Clauses(self.tables, self.scope, self.where)

    def loop(self, node: syntax.For) -> None:
        values, name = self.scope.values, node.name.text
        if name in values:
            fail(
                "PL104", f"`{name}` already means something else here", node.name.span, "rename it"
            )
        first, last = whole(node.first, values), whole(node.last, values)
        if last - first >= self.limit.most:
            message = f"the loop runs {last - first + 1:,} times; the most is {self.limit.most:,}"
            fail("PL603", message, node.span, "shorten the loop")
        for value in range(first, last + 1):
            self.limit.take(node)
            values[name] = value
            self.block(node.body, node, value)
        values.pop(name, None)

    def phase(self, node: syntax.Phase) -> None:
        for attribute in node.attributes:
            if attribute.text not in PHASE_ATTRIBUTES:
                known = did_you_mean(attribute.text, PHASE_ATTRIBUTES)
                message = f"`{attribute.text}` is not an attribute of a phase"
                fail("PL107", message, attribute.span, known)
        scope = self.scope
        stream = scope.find("stream", node.stream)
        said = self.clauses().of(node, stream)
        local = point_name(node.label, scope)
        if node.launched:
            stream = self.launch(node, stream)
        self.forked_inside(node, stream)
        number = len(self.phases)
        kind = "launch" if node.launched else "phase"
        scope.set_point(local, Named(kind, number, node.label.span))
        own = None if node.label.index is None else whole(node.label.index, scope.values)
        phase = Phase(
            number,
            scope.prefix + local,
            scope.base + node.label.name.text,
            scope.index if own is None else own,
            stream,
            tuple(said.accesses),
            node.label.span,
            node.span,
            frozenset(attribute.text for attribute in node.attributes),
            self.inside,
            said.rows,
            said.collective,
            said.cost,
            self.braces,
            node.launched,
            said.extent,
            said.rows_span,
            self.within,
            self.frame,
        )
        self.phases.append(phase)
        self.items.append(phase)
        if node.launched:
            self.in_flight[number] = node.label.span

    def launch(self, node: syntax.Phase, stream: int) -> int:
        """The stream that the operation is in flight on, forked from the one that starts it."""
        if stream == HOST:
            fail("PL505", "the host launches nothing", node.stream.span, "name a stream")
        flight = self.tables.flight(node.label, self.scope.base + node.label.name.text)
        self.add_edge("launch", Source("stream", stream), flight, node.span)
        return flight

    def forked_inside(self, node: syntax.Phase, stream: int) -> None:
        """In a capture a side stream begins with a fork inside it; the graph knows it no earlier."""
        if self.inside is None or stream == HOST:
            return
        if stream != self.captures[self.inside].stream and stream not in self.forked:
            self.not_forked(stream, f"`{node.label.name.text}` is on", node.stream.span)

    def not_forked(self, stream: int, what: str, span: Span) -> NoReturn:
        assert self.inside is not None
        self.forked.add(stream)  # said once
        capture, name = self.captures[self.inside], self.tables.streams[stream].name
        origin = self.tables.streams[capture.stream].name
        help = f"write `fork {name} from {origin}` inside the capture, above it"
        message = f"{what} {name}, which the capture does not fork"
        fail("PL504", message, span, help, Label(capture.span, "the capture"))

    # Captures

    def capture(self, node: syntax.Capture) -> None:
        scope = self.scope
        stream = scope.find("stream", node.stream)
        rows, extent = self.clauses().row_count(node.rows)
        name = point_name(node.label, scope)
        pool = None if node.pool is None else scope.find("pool", node.pool)
        if stream == HOST:
            fail("PL505", "the host cannot be captured", node.stream.span, "name a stream")
        if self.inside is not None:
            outer = Label(self.captures[self.inside].span, "the capture it stands in")
            message = f"the capture `{name}` stands inside another"
            fail("PL505", message, node.label.span, "close the first one before it", outer)
        wanted = node.condition is None or truth(node.condition, scope.values)
        self.braces, self.within = node.span, scope.prefix + name
        self.widths[self.within] = rows
        if self.capturing and wanted:
            self.graph(node, name, stream, rows, pool, extent)
        else:
            self.without_graph(node, name, stream)
        self.braces, self.within = None, ""

    def graph(
        self,
        node: syntax.Capture,
        name: str,
        stream: int,
        rows: int,
        pool: int | None,
        extent: Extent | None,
    ) -> None:
        number, first = len(self.captures), len(self.phases)
        span = node.label.span
        full = self.scope.prefix + name
        made = Capture(number, full, stream, rows, span, node.span, pool, extent, node.rows.span)
        self.captures.append(made)
        self.scope.set_point(name, Named("capture", number, span))
        self.items.append(Open(number))
        self.inside, self.forked = number, set()
        self.block(node.body, node)
        self.inside = None
        if len(self.phases) == first:  # nothing in it at this setting: no graph
            while not isinstance(self.items.pop(), Open):
                pass
            self.captures.pop()
            del self.scope.points[name]
            return
        self.items.append(Close(number))

    def without_graph(self, node: syntax.Capture, name: str, stream: int) -> None:
        """The same phases, eager, and a name for the end of the last and for when all inputs are read."""
        first = len(self.phases)
        self.eager[name] = stream
        self.block(node.body, node)
        del self.eager[name]
        device = [phase for phase in self.phases[first:] if phase.stream != HOST]
        if not device:
            return
        written: set[int] = set()
        loaded = device[0]
        for phase in device:
            if any(a.reads and a.buffer not in written for a in phase.accesses):
                loaded = phase
            written |= {a.buffer for a in phase.accesses if a.writes}
        named = Named("phase", device[-1].number, node.label.span, loaded.number)
        self.scope.set_point(name, named)

    # Calls

    def call(self, node: syntax.Call) -> None:
        module, library = self.scope.library.find(node.module)
        label = node.label or syntax.Label(node.module[-1].span, module.name)
        with self.noting_failure(label):
            name = point_name(label, self.scope)
            inner = self.calls.enter(node, module, library, self.scope, label, name)
            self.scope.set_point(name, Named("call", -1, label.span, scope=inner))
        outer, self.scope = self.scope, inner
        depth, self.depth = self.depth, 0
        around, self.frame = self.frame, Frame(self.frame, node, inner, 0, self.woven or node.span)
        woven, self.woven = self.woven, None
        first = len(self.phases)
        for statement in module.body:
            with self.collecting():
                self.statement(statement)
        self.scope, self.depth = outer, depth
        self.frame, self.woven = around, woven
        self.calls.leave()
        last = len(self.phases) - 1 if len(self.phases) > first else -1
        outer.points[name] = Named("call", last, label.span, scope=inner)

    def interleave(self, node: syntax.Interleave) -> None:
        if self.stages is not None:
            fail("PL505", "calls that are interleaved already are interleaved again", node.span)
        behind = whole(node.behind, self.scope.values)
        if not 0 <= behind <= 1000:
            fail("PL601", f"{behind} stages cannot be fallen behind", node.behind.span)
        self.woven = node.span
        first, second = self.stages_of(node.first), self.stages_of(node.second)
        self.woven = None
        for step in range(max(len(first), behind + len(second))):
            for stages, stage in ((first, step), (second, step - behind)):
                if 0 <= stage < len(stages):
                    self.items += stages[stage]

    def stages_of(self, node: syntax.Call) -> list[list[Item | AskedEdge]]:
        """What a call issues, cut at its yields."""
        outer, self.items = self.items, []
        self.stages = stages = []
        self.around_stages = self.inside
        try:
            with self.collecting():
                self.call(node)
            return [*stages, self.items]
        finally:
            self.items, self.stages = outer, None

    def stage_end(self, node: syntax.Yield) -> None:
        if self.stages is None:
            return  # the module is called by itself: one stage runs on into the next
        if self.inside != self.around_stages:
            fail("PL505", "a stage ends inside a capture", node.span, "capture the interleave")
        self.stages.append(self.items)
        self.items = []

    # Edges

    def edge(self, word: Word, point: syntax.Point, target: syntax.Name, span: Span) -> None:
        names = tuple(point_name(label, self.scope) for label in point.path)
        number = self.edge_count
        self.edge_count += 1
        asked = AskedEdge(number, word, names, point, target, span, self.scope, self.inside)
        if word == "await":
            self.awaited(asked)
        later = self.braces is not None and self.stands_below(asked)
        if point.rounds_back or later:
            self.items.append(asked.replace(later=later))
            return
        if len(names) == 2 and names[1] == "loaded" and names[0] in self.eager:
            # What is expanded eagerly is loaded where its stream stands.
            source = Source("stream", self.eager[names[0]])
            target_stream = self.scope.find("stream", target)
            edge = Edge(number, word, source, target_stream, span, self.inside)
        else:
            edge = self.edges.edge(asked)
        if edge is not None:
            self.items.append(edge)
            self.forks(edge)

    def stands_below(self, asked: AskedEdge) -> bool:
        """Whether a point of a capture's edge is nothing yet, and may be something further down."""
        last = asked.names[-1]
        known = last in asked.scope.numbers["stream"] or last not in self.edges.labels
        return not known and self.edges.named(asked)[0] is None

    def add_edge(self, word: Word, source: Source, target: int, span: Span) -> None:
        edge = Edge(self.edge_count, word, source, target, span, self.inside)
        self.edge_count += 1
        self.items.append(edge)
        self.forks(edge)

    def forks(self, edge: Edge) -> None:
        """Notes the stream that an edge of a capture takes into it: only what is in it can."""
        if self.inside is None:
            return
        source, origin = edge.source, self.captures[self.inside].stream
        known = {origin, *self.forked}
        if source.kind != "phase" or self.phases[source.number].capture == self.inside:
            self.forked.add(edge.target)
        if source.kind == "stream" and source.number not in known:
            self.not_forked(source.number, "the edge begins at", edge.span)

    def awaited(self, asked: AskedEdge) -> None:
        named, _ = self.edges.named(asked)
        if named is None or named.kind != "launch" or asked.point.rounds_back:
            message = f"`{asked.point.span.text}` is not a launch of this round above this line"
            fail("PL112", message, asked.point.span, "`await` ends what `launch` began")
        if (span := self.in_flight.pop(named.number, None)) is not None:
            self.awaited_at.add(span)
        if (inside := self.phases[named.number].capture) not in (None, self.inside):
            graph = self.captures[inside]
            message = f"`{asked.span.text}` crosses the brace of the capture `{graph.name}`"
            label = Label(graph.span, "the capture, which would end with it in flight")
            fail("PL503", message, asked.span, "write it before the brace", label)

    def resolved_items(self) -> Iterator[Item]:
        for item in self.items:
            if not isinstance(item, AskedEdge):
                yield item
                continue
            with self.collecting():
                if (edge := self.edges.edge(item)) is not None:
                    yield edge


def _in_text_order(
    phases: list[Phase], items: list[Item]
) -> tuple[tuple[Phase, ...], tuple[Item, ...]]:
    """Phases numbered as they are issued, which interleaved calls are not expanded as."""
    issued = [item.number for item in items if isinstance(item, Phase)]
    if issued == list(range(len(phases))):
        return tuple(phases), tuple(items)
    numbers = {old: new for new, old in enumerate(issued)}
    changed: list[Item] = []
    for item in items:
        if isinstance(item, Phase):
            changed.append(item.replace(number=numbers[item.number]))
        elif isinstance(item, Edge) and item.source.kind == "phase":
            source = item.source.replace(number=numbers[item.source.number])
            changed.append(item.replace(source=source))
        else:
            changed.append(item)
    return tuple(item for item in changed if isinstance(item, Phase)), tuple(changed)


def _end(span: Span) -> Span:
    """The empty span behind it."""
    return Span(span.source, span.end, span.end)


def fail(code: str, message: str, span: Span, help: str = "", *labels: Label) -> NoReturn:
    raise SpecError([Diagnostic(code, message, span, help=help, labels=labels)])
