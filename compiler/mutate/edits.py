"""Every single edit of a text that takes away or moves something that an order may hang on."""

from __future__ import annotations

from collections.abc import Iterator

from plait.dsl import syntax
from plait.dsl.diagnostic import Edit, Fix
from plait.dsl.edits import edited
from plait.dsl.printer import printed
from plait.dsl.record import Record
from plait.dsl.span import Source, Span

Body = tuple[syntax.Statement, ...]
EDGES = syntax.Fork | syntax.Join
HELD = ("static", "pad", "carried")
"""Attributes of a buffer that an edit leaves out."""


class Mutant(Record):
    """A spec with one edit, which `what` says."""

    what: str
    line: int
    source: Source


def mutants(file: syntax.File) -> Iterator[Mutant]:
    """Of a file alone, without what it uses; in the order of the text."""
    source = file.span.source
    for what, span, edits in _edits(file):
        changed, made = edited(source, [Fix(what, edits)])
        if made:
            mutated = Source(source.name, changed.text, source.folder)
            yield Mutant(what, span.line, mutated)


Found = tuple[str, Span, tuple[Edit, ...]]


def _edits(file: syntax.File) -> Iterator[Found]:
    for pipeline in file.pipelines:
        yield from _in_body(pipeline.body, [])
    for module in file.modules:
        formals = [f.name.text for f in module.formals if f.kind == "stream"]
        yield from _in_body(module.body, formals)


def _in_body(body: Body, streams: list[str], above: Body = ()) -> Iterator[Found]:
    streams = streams + [s.name.text for s in body if isinstance(s, syntax.Stream)]
    groups = [s for s in body if isinstance(s, syntax.Group)]
    for place, statement in enumerate(body):
        before = (*above, *body[:place])
        match statement:
            case syntax.Fork() | syntax.Join():
                yield from _of_edge(body, place, before)
            case syntax.Await():
                yield from _moved(body, place)
            case syntax.Phase():
                yield from _of_phase(body, place, streams)
            case syntax.Buffer():
                yield from _of_buffer(statement)
            case syntax.Pool(size=syntax.Number(value=int(size))) if size > 1:
                less = statement.replace(size=syntax.Number(statement.span, size - 1))
                yield (
                    f"let the pool `{statement.name.text}` hold {size - 1}",
                    statement.span,
                    _replaced(statement, less),
                )
            case syntax.Guard(agreement=agreement) | syntax.Dim(agreement=agreement):
                if agreement is not None:
                    yield from _of_vote(statement, agreement, groups)
            case syntax.Capture(body=inner):
                yield from _of_graph(statement, body)
                yield from _in_body(inner, streams, before)
            case syntax.For(body=inner):
                yield from _in_body(inner, streams, before)
            case syntax.When(body=inner, otherwise=otherwise):
                yield from _in_body(inner, streams, before)
                yield from _in_body(otherwise, streams, before)


# Edges


def _of_edge(body: Body, place: int, before: Body) -> Iterator[Found]:
    edge = body[place]
    assert isinstance(edge, EDGES)
    text = _shown(edge)
    yield f"drop `{text}`", edge.span, (Edit(edge.span, ""),)
    yield from _moved(body, place)
    point = edge.point
    for weaker in _weaker(point, before):
        with_it = edge.replace(point=weaker)
        yield f"write `{_shown(with_it)}` for `{text}`", edge.span, _replaced(edge, with_it)


def _moved(body: Body, place: int) -> Iterator[Found]:
    edge = body[place]
    for way, other in (("up", place - 1), ("down", place + 1)):
        if 0 <= other < len(body) and _issues(body[other]):
            what = f"move `{_shown(edge)}` one statement {way}"
            yield what, edge.span, _swapped(edge, body[other])


def _weaker(point: syntax.Point, before: Body) -> Iterator[syntax.Point]:
    """Points that are over earlier: a round before, or a phase that the stream was issued before."""
    first = point.path[0]
    on_stream = [
        one.label
        for one in before
        if isinstance(one, syntax.Phase) and one.stream.text == first.name.text
    ]
    if len(point.path) == 1 and on_stream:
        newest = point.replace(path=(on_stream[-1],))
        yield newest
        yield newest.replace(rounds_back=1)
        if len(on_stream) > 1:
            yield point.replace(path=(on_stream[-2],))
    else:
        yield point.replace(rounds_back=point.rounds_back + 1)


# Phases


def _of_phase(body: Body, place: int, streams: list[str]) -> Iterator[Found]:
    phase = body[place]
    assert isinstance(phase, syntax.Phase)
    name = printed(phase.label)
    for stream in streams:
        if stream != phase.stream.text:
            yield (
                f"move `{name}` from {phase.stream.text} to {stream}",
                phase.span,
                (Edit(phase.stream.span, stream),),
            )
    for clause in phase.clauses:
        if isinstance(clause, syntax.Collective) and clause.capacity is not None:
            text = _text(clause.capacity.span)
            edits = (Edit(clause.capacity.span, f"({text}) - 1"),)
            yield f"let the exchange of `{name}` hold one row less", phase.span, edits
    after = body[place + 1] if place + 1 < len(body) else None
    if isinstance(after, syntax.Phase):
        yield f"swap `{name}` and `{printed(after.label)}`", phase.span, _swapped(phase, after)


# Graphs


def _of_graph(capture: syntax.Capture, body: Body) -> Iterator[Found]:
    """Put into the pool of another graph, or out of its own."""
    name = printed(capture.label)
    pools = [one.pool for one in body if isinstance(one, syntax.Capture) and one.pool is not None]
    for pool in {one.text: one for one in pools}.values():
        own = capture.pool and capture.pool.text
        if own is not None and own != pool.text:
            assert capture.pool is not None
            edits = (Edit(capture.pool.span, pool.text),)
            yield f"put `{name}` into the pool {pool.text}", capture.span, edits
        elif own is None:
            edits = (_pooled(capture, pool.text),)
            yield f"put `{name}` into the pool {pool.text}", capture.span, edits
    above = [one for one in body[: body.index(capture)] if isinstance(one, syntax.Capture)]
    if above and above[-1].pool is None and capture.pool is None:
        first = above[-1]
        declared = Edit(Span(first.span.source, first.span.start, first.span.start), "pool both ")
        edits = (declared, *(_pooled(one, "both") for one in (first, capture)))
        yield f"put `{printed(first.label)}` and `{name}` into one pool", capture.span, edits


def _pooled(capture: syntax.Capture, pool: str) -> Edit:
    return Edit(capture.rows.span, f"{_text(capture.rows.span)} in {pool}")


# Declarations


def _of_buffer(buffer: syntax.Buffer) -> Iterator[Found]:
    name = buffer.name.text
    for attribute in buffer.attributes:
        word, number = attribute.name.text, attribute.number
        if word == "copies" and isinstance(number, int) and number > 1:
            less = f"copies {number - 1}"
            yield f"give `{name}` {less}", buffer.span, (Edit(attribute.span, less),)
        elif word in HELD:
            yield f"drop `{word}` of `{name}`", buffer.span, (Edit(attribute.span, ""),)


def _of_vote(
    asked: syntax.Guard | syntax.Dim, agreement: syntax.Agreement, groups: list[syntax.Group]
) -> Iterator[Found]:
    name, group = asked.name.text, agreement.group.text
    without = asked.replace(agreement=None)
    yield f"drop the vote on `{name}`", asked.span, _replaced(asked, without)
    for inner in groups:
        if inner.inside is not None and inner.inside.text == group:
            narrow = asked.replace(agreement=agreement.replace(group=inner.name))
            what = f"ask for `{name}` over {inner.name.text} alone"
            yield what, asked.span, _replaced(asked, narrow)


# Texts


def _issues(statement: syntax.Statement) -> bool:
    """Whether it makes a difference on which side of it an edge stands."""
    return isinstance(
        statement,
        EDGES
        | syntax.Await
        | syntax.Phase
        | syntax.Capture
        | syntax.Call
        | syntax.For
        | syntax.When,
    )


def _swapped(one: syntax.Statement, other: syntax.Statement) -> tuple[Edit, ...]:
    return Edit(one.span, _text(other.span)), Edit(other.span, _text(one.span))


def _replaced(one: syntax.Statement, other: syntax.Statement) -> tuple[Edit, ...]:
    return (Edit(one.span, printed(other)),)


def _shown(statement: syntax.Statement) -> str:
    return printed(statement)


def _text(span: Span) -> str:
    return span.source.text[span.start : span.end]
