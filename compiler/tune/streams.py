"""Moves to another stream: of a phase, of a launch, of a graph with what it has on its own stream."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import count

from plait.compiler.tune.move import Body, Move, View
from plait.dsl import syntax
from plait.dsl.diagnostic import Edit
from plait.dsl.printer import printed
from plait.dsl.span import Span


def moves(view: View) -> Iterator[Move]:
    streams = {one.name.text: one for one in view.pipeline.body if isinstance(one, syntax.Stream)}
    fresh = _fresh(view, streams)
    for body, graph in view.bodies:
        for one in body:
            if isinstance(one, syntax.Phase | syntax.Capture) and one.stream.text in streams:
                own = streams[one.stream.text]
                if graph is None or one.stream.text != graph.stream.text or _others(graph, one):
                    yield from _to_others(view, one, own, streams)
                    yield from _to_fresh(view, one, own, fresh)


def _others(graph: syntax.Capture, one: syntax.Statement) -> bool:
    """Whether something is left on the stream of a graph without one of its phases."""
    return any(
        isinstance(inner, syntax.Phase) and inner is not one and inner.stream == graph.stream
        for inner in graph.body
    )


def _to_others(
    view: View,
    one: syntax.Phase | syntax.Capture,
    own: syntax.Stream,
    streams: dict[str, syntax.Stream],
) -> Iterator[Move]:
    for name, stream in streams.items():
        if name != own.name.text and _class(stream) == _class(own) and stream.alias is None:
            yield Move(_said(one, name), view.text(*_onto(one, name)))


def _to_fresh(
    view: View,
    one: syntax.Phase | syntax.Capture,
    own: syntax.Stream,
    fresh: tuple[str, Span] | None,
) -> Iterator[Move]:
    if fresh is not None:
        name, behind = fresh
        sort = f" : {own.kind.text}" if own.kind else ""
        declared = Edit(behind, f"\nstream {name}{sort}")
        yield Move(_said(one, f"a new stream {name}"), view.text(declared, *_onto(one, name)))


def _fresh(view: View, streams: dict[str, syntax.Stream]) -> tuple[str, Span] | None:
    """The name of a stream to be declared, and where; None: there may be no more."""
    most = view.space.streams
    if not streams or (most is not None and len(streams) >= most):
        return None
    known = set(re.findall(r"\w+", view.source.text))
    name = next(one for n in count(1) if (one := f"side{n}") not in known)
    last = list(streams.values())[-1].span
    end = view.source.text.find("\n", last.end)
    rest = view.source.text[last.end : end].strip()
    at = end if end >= 0 and (not rest or rest.startswith("#")) else last.end
    return name, Span(view.source, at, at)


def _class(stream: syntax.Stream) -> str:
    return stream.kind.text if stream.kind else "compute"


def _said(one: syntax.Phase | syntax.Capture, name: str) -> str:
    return f"`{printed(one.label)}` moved from {one.stream.text} to {name}"


def _onto(one: syntax.Phase | syntax.Capture, name: str) -> list[Edit]:
    edits = [Edit(one.stream.span, name)]
    if isinstance(one, syntax.Capture):
        edits += [Edit(span, name) for span in _inside(one.body, one.stream.text)]
    return edits


def _inside(body: Body, stream: str) -> Iterator[Span]:
    """Where a graph's own stream is named within it."""
    for one in body:
        match one:
            case syntax.Phase() | syntax.Fork() | syntax.Await() if one.stream.text == stream:
                yield one.stream.span
            case syntax.Join() if one.into.text == stream:
                yield one.into.span
            case syntax.For():
                yield from _inside(one.body, stream)
            case syntax.When():
                yield from _inside((*one.body, *one.otherwise), stream)
