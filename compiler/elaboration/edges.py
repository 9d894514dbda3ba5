"""Forks, joins and awaits to Edges: what each names, and whether it may stand where it stands.

A point must stand above the edge. Only one of an earlier round may stand below, or be missing on this
route, and the rebind that a graph waits for may stand below it: such an edge is looked up when the
round is whole.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NoReturn

from plait.compiler.elaboration.declare import Tables
from plait.compiler.elaboration.scope import Named, Scope
from plait.compiler.round import HOST, Capture, Edge, Phase, Source, Word
from plait.dsl import syntax
from plait.dsl.diagnostic import Diagnostic, Label, SpecError
from plait.dsl.record import Record
from plait.dsl.span import Span
from plait.dsl.suggest import did_you_mean
from plait.dsl.values import Silenced


class AskedEdge(Record):
    """An edge as the text asks for it, with the names it uses worked out."""

    number: int
    word: Word
    names: tuple[str, ...]
    point: syntax.Point
    target: syntax.Name
    span: Span
    scope: Scope
    capture: int | None
    later: bool = False
    """Whether its point stands further down: the rebind of a task that a graph waits for."""


@dataclass(frozen=True, eq=False, repr=False)
class Edges:
    """Resolves edges against a round as far as it is expanded. Raises SpecError, Silenced."""

    tables: Tables
    phases: list[Phase]
    captures: list[Capture]
    labels: frozenset[str]
    """Every name that a phase, capture or call has anywhere in the text."""
    homes: dict[str, tuple[str, str]]
    """Of points that other routes have, the name of their record and of its stream."""
    missed: set[str] = field(default_factory=set)
    """Points of earlier rounds that this route has not."""

    def edge(self, asked: AskedEdge) -> Edge | None:
        """The edge; None when both ends are one stream under two names, or the point is not there."""
        target = asked.scope.find("stream", asked.target)
        source = self.source(asked)
        if source is None:
            return None
        if source.kind == "stream":
            if source.rounds_back:
                message = "a stream has no earlier round"
                _fail("PL112", message, asked.point.span, "name a phase or a capture")
            if asked.point.path[0].name.text == asked.target.text:
                message = f"`{asked.target.text}` waits for itself"
                _fail("PL402", message, asked.span, "a stream always goes on in order")
            if source.number in (target, HOST):
                return None
        if asked.capture is not None:
            self.inside(asked, source, target)
        return Edge(asked.number, asked.word, source, target, asked.span, asked.capture)

    def inside(self, asked: AskedEdge, source: Source, target: int) -> None:
        """Refuses an edge across the brace of the capture it stands in."""
        assert asked.capture is not None
        graph = self.captures[asked.capture]
        label = Label(graph.span, "the capture")
        if target == HOST:
            return  # blocks the host, which a rule says beside what else a capture cannot hold
        own = source.kind == "stream"
        own |= source.kind == "loaded" and source.number == asked.capture
        if source.kind == "phase":
            phase = self.phases[source.number]
            own |= phase.capture == asked.capture and not source.rounds_back and not asked.later
            own |= phase.capture is None and self.rebinds(phase)
        if not own:
            message = f"`{asked.span.text}` crosses the brace of the capture `{graph.name}`"
            help = "write it before the capture; only a rebind of a task may be waited for inside"
            _fail("PL503", message, asked.span, help, label)

    def rebinds(self, phase: Phase) -> bool:
        return any(a.writes and self.tables.buffers[a.buffer].task for a in phase.accesses)

    def source(self, asked: AskedEdge) -> Source | None:
        named, loaded = self.named(asked)
        point, back = asked.point, asked.point.rounds_back
        if named is None:
            numbers = asked.scope.numbers["stream"]
            if len(asked.names) == 1 and asked.names[0] in numbers:
                return Source("stream", numbers[asked.names[0]], back)
            return self.missing(asked)
        if loaded:
            return self.loaded(named, asked)
        if named.kind == "capture":
            if named.number == asked.capture:
                _fail("PL112", f"`{asked.names[-1]}` is the capture this stands in", point.span)
            return Source("capture", named.number, back)
        if named.number < 0:  # a call that issued nothing at this setting
            return None
        graph = self.phases[named.number].capture
        if graph is not None and (graph != asked.capture or back):
            return Source("capture", graph, back)  # seen from outside, it ends when its graph does
        return Source("phase", named.number, back)

    def named(self, asked: AskedEdge) -> tuple[Named | None, bool]:
        """What a path leads to, and whether it is that capture's load that is meant."""
        scope, named = asked.scope, None
        for place, name in enumerate(asked.names):
            if named is not None and named.scope is not None:
                scope = named.scope
            elif named is not None:
                if name == "loaded" and place == len(asked.names) - 1:
                    return named, True
                message = f"`{asked.names[place - 1]}` is a {named.kind}, which has no `{name}`"
                help = "`loaded` is all an edge may name of a capture"
                _fail("PL112", message, asked.point.path[place].span, help)
            if name not in scope.points:
                if asked.point.path[place].name.text in scope.failed:
                    raise Silenced
                return None, False
            named = scope.points[name]
        return named, False

    def loaded(self, named: Named, asked: AskedEdge) -> Source:
        if named.kind == "capture":
            return Source("loaded", named.number, asked.point.rounds_back)
        if named.loaded < 0:
            message = f"`{asked.names[-2]}` is a {named.kind}; only a capture is loaded"
            _fail("PL112", message, asked.point.span, "leave out `.loaded`")
        return Source("phase", named.loaded, asked.point.rounds_back)

    def missing(self, asked: AskedEdge) -> Source | None:
        """A point of an earlier round may be another route's; anything else is a mistake."""
        last = asked.point.path[-1].name.text
        if asked.point.rounds_back and last in self.labels:
            name = asked.scope.prefix + ".".join(asked.names)
            self.missed.add(name)
            point, home = self.homes.get(name, ("", ""))
            for number, stream in enumerate(self.tables.streams):
                if stream.name == home:
                    return Source("elsewhere", number, asked.point.rounds_back, point)
            return None
        if ("stream", last) in asked.scope.declared:
            raise Silenced
        name = ".".join(asked.names)
        message = f"no stream, phase or capture `{name}` stands above this line"
        help = did_you_mean(name, asked.scope.names())
        if last in self.labels:
            message = f"`{name}` is not issued above this line at every setting"
            help = f"write the edge below `{last}`, and under the same `when`"
        raise SpecError([Diagnostic("PL101", message, asked.point.span, help=help)])


def _fail(code: str, message: str, span: Span, help: str = "", *labels: Label) -> NoReturn:
    raise SpecError([Diagnostic(code, message, span, help=help, labels=labels)])
