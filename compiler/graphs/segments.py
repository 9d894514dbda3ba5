"""Captures written around the phases of a text that graphs can hold.

A run begins with a phase on a stream and goes on while statements are phases on it, loops of such, and
branches that are forked in the run and come back in it. Only statements of the pipeline's own level are
looked at: calls, conditions and what is captured already stay as they are. What is written is judged
again, and what brings an error is tried in smaller runs, then left alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import count

from plait.compiler.compile import Asked, Proven, prove
from plait.compiler.graphs.beside import beside, launches
from plait.compiler.graphs.capturable import obstacle
from plait.compiler.graphs.lasting import Lasting, lasting, line_end, lines
from plait.compiler.order import Order
from plait.compiler.round import Phase
from plait.dsl import syntax
from plait.dsl.diagnostic import Edit, Fix
from plait.dsl.library import load_library
from plait.dsl.settings import choose_pipeline
from plait.dsl.span import Source, Span


@dataclass(frozen=True, slots=True)
class Segment:
    """A capture to be written."""

    name: str
    stream: str
    first: int
    last: int
    """Lines."""
    launches: int
    """Of its phases in a round at the largest bucket: with the graph, one."""


@dataclass(frozen=True, slots=True)
class Left:
    """Statements that stay as they are, and why."""

    first: int
    last: int
    why: str


@dataclass(frozen=True)
class Captured:
    source: Source
    """With the captures."""
    segments: tuple[Segment, ...]
    left: tuple[Left, ...]
    buckets: int
    launches: tuple[int, int]
    """Of a round at the largest bucket, before and after."""
    apart: tuple[tuple[str, str], ...]
    """Phases that could run side by side in a round and now cannot."""
    static: tuple[str, ...] = ()
    """Buffers that are now declared so, as others read them while the next replay may run."""


def captured(
    source: Source, asked: Asked, rows: str | None = None, singles: bool = False
) -> Captured:
    """`singles`: also what is one launch by itself.

    Raises SpecError for a text that has errors, TargetError for a target that is not there.
    """
    proven = prove(source, asked)
    pipeline = choose_pipeline(load_library(source).file, asked.pipeline, asked.variant)
    dims = [node.name.text for node in pipeline.body if isinstance(node, syntax.Dim)]
    search = _Search(source, asked, proven, pipeline, rows or (dims[0] if dims else "1"), singles)
    made, left = search.chosen()
    written = search.written(made)
    after = written.source if made else source
    before, now = proven.widest, prove(after, asked).widest if made else proven.widest
    return Captured(
        after,
        tuple(map(search.segment, made, search.names())),
        tuple(left),
        len({tuple(order.round.sizes.items()) for order in proven.orders}),
        (launches(before), launches(now)),
        tuple(sorted(beside(before) - beside(now))),
        written.static,
    )


@dataclass(frozen=True, slots=True)
class _Run:
    nodes: tuple[syntax.Statement, ...]
    stream: str


class _Search:
    def __init__(
        self,
        source: Source,
        asked: Asked,
        proven: Proven,
        pipeline: syntax.Pipeline,
        rows: str,
        singles: bool,
    ):
        self.source = source
        self.asked = asked
        self.proven = proven
        self.body = pipeline.body
        self.rows = rows
        self.singles = singles
        self.taken = {one.name for order in proven.orders for one in order.round.captures}
        streams = [one for order in proven.orders for one in order.round.streams]
        self.copying = {stream.name for stream in streams if stream.kind == "copy"}
        self.taken |= {phase.base for order in proven.orders for phase in order.round.phases}
        self.taken |= set(re.findall(r"\bgraph[0-9]+\b", source.text))

    def chosen(self) -> tuple[list[_Run], list[Left]]:
        """The runs to write, of which all are sound together, and what is left."""
        made: list[_Run] = []
        left: list[Left] = []
        for run in self.runs(self.body, branches=True, left=left):
            if self.error([*made, run]) is None:
                made.append(run)
                continue
            for part in self.runs(run.nodes, branches=False, left=[]):
                if (why := self.error([*made, part])) is None:
                    made.append(part)
                else:
                    left.append(Left(*lines(part.nodes), why))
        return made, sorted(left, key=lambda one: one.first)

    def error(self, runs: list[_Run]) -> str | None:
        """What is wrong with the text when those are captured."""
        return self.written(runs).wrong

    def runs(
        self, nodes: Iterable[syntax.Statement], branches: bool, left: list[Left]
    ) -> list[_Run]:
        found: list[_Run] = []
        waiting = list(nodes)
        while waiting:
            why = self.obstacle(waiting[0])
            if why is not None:
                if why:
                    left.append(Left(*lines(waiting[:1]), why))
                waiting.pop(0)
                continue
            (stream,) = _streams(waiting[0])
            length = self.length(waiting, stream, branches)
            if self.alone(waiting[:length], stream):
                what = "a copy" if stream in self.copying else "a phase"
                left.append(Left(*lines(waiting[:1]), f"{what} by itself is one launch anyway"))
            else:
                found.append(_Run(tuple(waiting[:length]), stream))
            del waiting[:length]
        return found

    def alone(self, nodes: list[syntax.Statement], stream: str) -> bool:
        """Whether a graph would be launched in place of a single phase, which may be a single kernel."""
        if self.singles and stream not in self.copying:
            return False
        most = max(sum(len(_within(o, n.span)) for n in nodes) for o in self.proven.orders)
        return most < 2

    def length(self, nodes: list[syntax.Statement], stream: str, branches: bool) -> int:
        """How many statements from the first on are one run, which ends with every branch back."""
        whole, open, inside = 1, set[str](), set[str]()
        for number, node in enumerate(nodes, 1):
            if isinstance(node, syntax.Fork | syntax.Join):
                if not branches or not self.follows(node, stream, open, inside):
                    break
                continue_here = isinstance(node, syntax.Join)
            elif self.obstacle(node) is None and _streams(node) <= {stream, *open}:
                inside |= {phase.label.name.text for phase in _phases(node) or ()}
                continue_here = True
            else:
                break
            if continue_here and not open:
                whole = number
        return whole

    def follows(
        self, node: syntax.Fork | syntax.Join, stream: str, open: set[str], inside: set[str]
    ) -> bool:
        """Whether an edge is one of the run's own; it opens or ends a branch."""
        names = [label.name.text for label in node.point.path]
        if len(names) != 1 or node.point.rounds_back:
            return False
        if isinstance(node, syntax.Fork):
            if names[0] not in {stream, *open, *inside}:
                return False
            open.add(node.stream.text)
        else:
            if names[0] not in open or node.into.text not in {stream, *open}:
                return False
            open.remove(names[0])
        return True

    def obstacle(self, node: syntax.Statement) -> str | None:
        """Why no run begins with a statement, "" where that goes without saying; None: one may."""
        if not isinstance(node, syntax.Phase | syntax.For):
            of_steps = isinstance(node, syntax.Call | syntax.When | syntax.Interleave)
            return "only phases of the pipeline's own level are captured" if of_steps else ""
        phases = _phases(node)
        if phases is None or len(_streams(node)) != 1:
            return "a loop is captured when it holds phases of one stream alone"
        for order in self.proven.orders:
            for phase in _within(order, node.span):
                why = "it is in flight until it is awaited" if phase.launched else None
                if (why := why or obstacle(order.round, phase, self.proven.target)) is not None:
                    return f"`{phase.name}`: {why}"
        return None

    def names(self) -> Iterator[str]:
        """Names that the text has not."""
        made = (f"graph{number}" for number in count(1))
        return (name for name in made if name not in self.taken)

    def segment(self, run: _Run, name: str) -> Segment:
        phases = [p for node in run.nodes for p in _within(self.proven.widest, node.span)]
        return Segment(name, run.stream, *lines(run.nodes), len(phases))

    def written(self, runs: list[_Run]) -> Lasting:
        """The text with those captured."""
        fixes = []
        for run, name in zip(runs, self.names(), strict=False):
            start = run.nodes[0].span.start
            end = line_end(self.source, run.nodes[-1].span.end)
            head = f"capture {name} on {run.stream} rows {self.rows} {{\n"
            first, last = Span(self.source, start, start), Span(self.source, end, end)
            fixes.append(Fix(name, (Edit(first, head), Edit(last, "\n}"))))
        return lasting(self.source, self.body, fixes, self.asked)


def _phases(node: syntax.Statement) -> list[syntax.Phase] | None:
    """All of a phase, or of a loop that holds nothing else."""
    if isinstance(node, syntax.Phase):
        return [node]
    if not isinstance(node, syntax.For):
        return None
    found: list[syntax.Phase] = []
    for inner in node.body:
        phases = _phases(inner)
        if phases is None:
            return None
        found += phases
    return found


def _streams(node: syntax.Statement) -> set[str]:
    return {phase.stream.text for phase in _phases(node) or ()}


def _within(order: Order, span: Span) -> list[Phase]:
    """The phases of a round that a statement is."""
    return [
        phase
        for phase in order.round.phases
        if phase.statement.source.name == span.source.name
        and span.start <= phase.statement.start < span.end
    ]
