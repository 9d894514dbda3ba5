"""Which parts of a round are graphs: each dropped, or widened over what stands next to it, or a new one."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

from plait.compiler.tune.move import EDGES, Body, Move, View, lines_of
from plait.dsl import syntax
from plait.dsl.diagnostic import Edit
from plait.dsl.printer import printed
from plait.dsl.span import Span

MOST_ROWS = 3
"""Row counts of a new graph that are tried."""


def moves(view: View) -> Iterator[Move]:
    for body, graph in view.bodies:
        if graph is not None:
            continue
        for place, one in enumerate(body):
            below = body[place + 1] if place + 1 < len(body) else None
            if isinstance(one, syntax.Capture):
                yield _dropped(view, one)
                if below is not None and _joins(one, below):
                    yield _merged(view, one, below)
            elif isinstance(below, syntax.Capture) and _may_hold(one, below):
                yield _taken_in(view, one, below)
    yield from _new(view)


def _dropped(view: View, one: syntax.Capture) -> Move:
    """What stands in it stays, and edges that name it name its stream."""
    text = view.source.text
    brace = _brace(one)
    edits = [
        _cut(Span(view.source, one.span.start, brace.end)),
        _cut(Span(view.source, one.span.end - 1, one.span.end)),
    ]
    edits += _renamed(view, one, one.stream.text)
    assert text[one.span.end - 1] == "}"
    return Move(f"`{printed(one.label)}` runs without a graph", view.text(*edits))


def _joins(one: syntax.Capture, below: syntax.Statement) -> bool:
    if isinstance(below, syntax.Capture):
        return (below.stream, below.condition) == (one.stream, one.condition)
    return _may_hold(below, one)


def _may_hold(one: syntax.Statement, graph: syntax.Capture) -> bool:
    on_stream = isinstance(one, syntax.Phase) and one.stream == graph.stream and not one.launched
    return on_stream and graph.condition is None


def _merged(view: View, one: syntax.Capture, below: syntax.Statement) -> Move:
    name, end = printed(one.label), Span(view.source, one.span.end - 1, one.span.end)
    if isinstance(below, syntax.Capture):
        head = Span(view.source, below.span.start, _brace(below).end)
        edits = [_cut(end), _cut(head), *_renamed(view, below, name)]
        return Move(f"`{name}` and `{printed(below.label)}` are one graph", view.text(*edits))
    at = _behind(below.span)
    edits = [_cut(end), Edit(Span(view.source, at, at), "\n}")]
    assert isinstance(below, syntax.Phase)
    return Move(f"`{printed(below.label)}` is part of the graph `{name}`", view.text(*edits))


def _taken_in(view: View, one: syntax.Statement, graph: syntax.Capture) -> Move:
    """What stands right above a graph as its first phase."""
    assert isinstance(one, syntax.Phase)
    head = Span(view.source, graph.span.start, _brace(graph).end)
    before = lines_of(one.span).start
    edits = [_cut(head), Edit(Span(view.source, before, before), f"{head.text}\n")]
    what = f"`{printed(one.label)}` is part of the graph `{printed(graph.label)}`"
    return Move(what, view.text(*edits))


def _new(view: View) -> Iterator[Move]:
    """Around all phases of a stream that stand next to each other."""
    counts = _row_counts(view)
    taken = set(view.source.text.replace("[", " ").split())
    name = next(name for n in count(1) if (name := f"graph{n}") not in taken)
    for body, graph in view.bodies:
        if graph is not None or body is not view.pipeline.body:
            continue
        for run in _runs(body):
            first, last = lines_of(run[0].span).start, _behind(run[-1].span)
            whose = "`" + "`, `".join(printed(one.label) for one in run) + "`"
            for rows in counts:
                head = f"capture {name} on {run[0].stream.text} rows {rows} {{\n"
                start, end = Span(view.source, first, first), Span(view.source, last, last)
                text = view.text(Edit(start, head), Edit(end, "\n}"))
                yield Move(f"a graph `{name}` of {rows} rows holds {whose}", text)


def _runs(body: Body) -> Iterator[list[syntax.Phase]]:
    run: list[syntax.Phase] = []
    for one in (*body, None):
        same = isinstance(one, syntax.Phase) and (not run or one.stream == run[-1].stream)
        eager = isinstance(one, syntax.Phase) and one.stream.text != "host" and not one.launched
        if run and not (same and eager):
            yield run
            run = []
        if isinstance(one, syntax.Phase) and eager:
            run.append(one)


def _row_counts(view: View) -> list[str]:
    """Of the graphs that there are, then the first dim."""
    found = [
        one.rows.span.text
        for body, _ in view.bodies
        for one in body
        if isinstance(one, syntax.Capture)
    ]
    found += [one.name.text for one in view.pipeline.body if isinstance(one, syntax.Dim)][:1]
    return list(dict.fromkeys(found or ["1"]))[:MOST_ROWS]


def _renamed(view: View, graph: syntax.Capture, name: str) -> list[Edit]:
    """Edges of this round that start from a graph, started from something else."""
    return [
        Edit(one.point.path[0].name.span, name)
        for body, _ in view.bodies
        for one in body
        if isinstance(one, EDGES) and not one.point.rounds_back and one.point.path == (graph.label,)
    ]


def _cut(span: Span) -> Edit:
    """A brace and what stands before it taken out, with its line where that holds nothing else."""
    text = span.source.text
    start, end = text.rfind("\n", 0, span.start) + 1, text.find("\n", span.end) + 1
    alone = end and not text[start : span.start].strip() and not text[span.end : end].strip()
    return Edit(Span(span.source, start, end) if alone else span, "")


def _brace(graph: syntax.Capture) -> Span:
    source = graph.span.source
    parts = [graph.stream, graph.rows, graph.condition, graph.pool]
    behind = max(part.span.end for part in parts if part is not None)
    at = source.text.index("{", behind)
    return Span(source, at, at + 1)


def _behind(span: Span) -> int:
    """Where a statement ends, with the comment behind it."""
    whole = lines_of(span)
    return whole.end - 1 if whole.text.endswith("\n") else span.end
