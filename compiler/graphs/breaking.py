"""Captures that hold what no graph may hold, broken around it.

What stands between two obstacles becomes a graph of its own, and the obstacles run eagerly between
them. Side streams that are open at a break are joined into the origin before it, and forked again where
the next graph needs them; edges of the text that then cross a break are left out, as the origin orders
the graphs. Only captures of the pipeline's own level are broken, and around whole statements of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from plait.compiler.compile import Asked, expand, prove, target_of
from plait.compiler.graphs.beside import beside, launches, longest
from plait.compiler.graphs.capturable import obstacle
from plait.compiler.graphs.lasting import lasting, line_end
from plait.compiler.order import order
from plait.compiler.round import HOST, Edge, Phase, Round
from plait.compiler.target import Target
from plait.dsl import syntax
from plait.dsl.diagnostic import Edit, Fix
from plait.dsl.library import Library, load_library
from plait.dsl.names import names_in
from plait.dsl.settings import choose_pipeline, variants_of
from plait.dsl.span import Source, Span


class Unbroken(Exception):
    """Why a capture cannot be broken."""


@dataclass(frozen=True, slots=True)
class Break:
    """One capture, and what it became."""

    name: str
    line: int
    around: tuple[tuple[int, str], ...]
    """Of everything that no graph may hold, its line, and why."""
    parts: tuple[str, ...]
    forks: int
    joins: int
    left_out: int
    """Edges of the text that crossed a break, or led to nothing."""


@dataclass(frozen=True)
class Broken:
    source: Source
    breaks: tuple[Break, ...]
    buckets: int
    launches: tuple[int, int]
    """Of a round at the largest bucket, before and after."""
    apart: tuple[tuple[str, str], ...]
    """Phases that could run side by side in a round and now cannot."""
    static: tuple[str, ...]
    longest: tuple[int, int] | None
    """The longest way through a round by declared costs, before and after, in nanoseconds."""


def broken(source: Source, asked: Asked) -> Broken | None:
    """None: no capture holds what it may not. Raises SpecError, TargetError, Unbroken."""
    library, target = load_library(source), target_of(asked)
    pipeline = choose_pipeline(library.file, asked.pipeline, asked.variant)
    rounds = expand(library, pipeline, asked, target)
    variants = [asked.variant]
    if asked.variant is None:
        variants += [one.name.text for one in variants_of(library.file, pipeline)]
    every = [*rounds]
    for variant in variants[1:]:
        every += expand(library, pipeline, replace(asked, variant=variant), target)
    found = _obstacles(every, target)
    if not found:
        return None
    nodes = [node for node in pipeline.body if isinstance(node, syntax.Capture)]
    edits: list[Edit] = []
    breaks = []
    for start, whys in sorted(found.items()):
        capture = next((node for node in nodes if node.span.start == start), None)
        if capture is None:
            line, why = min(whys.items())[1]
            raise Unbroken(
                f"line {line}: {why}, in a capture that is not on the pipeline's own level"
            )
        cut = _Cut(source, capture, whys, every)
        made, edits_here = cut.broken(library)
        breaks.append(made)
        edits += edits_here
    fix = Fix("break it", tuple(edits))
    after = lasting(source, pipeline.body, [fix], asked)
    if after.wrong is not None:
        names = ", ".join(f"`{one.name}`" for one in breaks)
        raise Unbroken(f"{names} cannot be broken: the text would not be right, {after.wrong}")
    before, now = order(_widest(rounds)), prove(after.source, asked).widest
    ways = longest(before), longest(now)
    return Broken(
        after.source,
        tuple(breaks),
        len({tuple(one.sizes.items()) for one in rounds}),
        (launches(before), launches(now)),
        tuple(sorted(beside(before) - beside(now))),
        after.static,
        None if ways[0] is None or ways[1] is None else (ways[0], ways[1]),
    )


def _widest(rounds: list[Round]) -> Round:
    return next(one for one in rounds if one.sizes == rounds[-1].sizes)


Whys = dict[int, tuple[int, str]]
"""Of statements of a capture, by where they start: the line of what no graph may hold, and why."""


def _obstacles(rounds: Iterable[Round], target: Target) -> dict[int, Whys]:
    """By where a capture starts, what it holds that it may not."""
    found: dict[int, Whys] = {}
    for round in rounds:
        for item in round.items:
            if not isinstance(item, Phase | Edge) or item.capture is None:
                continue
            if isinstance(item, Edge):
                why = "the host waits" if item.target == HOST else None
                at, name = item.span, round.edge_text(item)
            else:
                why = obstacle(round, item, target)
                at, name = _statement(item), item.name
            if why is not None:
                start = round.captures[item.capture].statement.start
                said = item.span.line, f"`{name}`: {why}"
                found.setdefault(start, {}).setdefault(at.start, said)
    return found


def _statement(phase: Phase) -> Span:
    """What stands for a phase in its capture: its own statement, or the loop or call around it."""
    frames = phase.frame.chain() if phase.frame else []
    for number, frame in enumerate(frames[:-1]):
        inner = frames[number + 1]
        if isinstance(frame.node, syntax.Capture) and inner.node is not None:
            return inner.statement or inner.node.span
    return phase.statement


@dataclass
class _Part:
    """Statements between two obstacles, and the edges among them that stay."""

    nodes: list[syntax.Statement]
    kept: list[syntax.Statement] = field(default_factory=list)
    forks: list[str] = field(default_factory=list)
    """Side streams it forks anew at its beginning."""
    joins: list[str] = field(default_factory=list)
    """Side streams that it joins at its end."""


class _Cut:
    """One capture to be broken."""

    def __init__(self, source: Source, node: syntax.Capture, whys: Whys, rounds: list[Round]):
        self.source = source
        self.node = node
        self.name = node.label.name.text
        self.origin = node.stream.text
        self.whys = whys
        self.streams = {id(one): self.streams_of(one, rounds) for one in node.body}
        self.home = {
            label: place
            for place, one in enumerate(node.body)
            if (label := _label(one)) is not None
        }
        """Of everything named in it, which of its statements that is."""

    def fail(self, node: syntax.Node, why: str) -> None:
        raise Unbroken(f"`{self.name}` cannot be broken: line {node.span.line}: {why}")

    def streams_of(self, node: syntax.Statement, rounds: list[Round]) -> set[str]:
        """The streams that a statement's phases are on, as the text calls them."""
        if isinstance(node, syntax.Phase):
            return {node.stream.text}
        phases = _phases(node)
        if phases is not None:
            streams = {phase.stream.text for phase in phases}
            if len(streams) > 1:
                self.fail(node, "a loop over several streams stands in it")
            return streams
        if isinstance(node, syntax.For | syntax.When | syntax.Call | syntax.Interleave):
            for round in rounds:
                for phase in round.phases:
                    here = phase.capture is not None and _statement(phase).start == node.span.start
                    if here and phase.stream != round.captures[phase.capture or 0].stream:
                        self.fail(node, "what is expanded there runs on other streams than its own")
            return {self.origin}
        return set()

    def broken(self, library: Library) -> tuple[Break, list[Edit]]:
        parts, between = self.parts()
        if not parts:
            self.fail(self.node, "nothing is left of it")
        names = [self.name]
        if len(parts) > 1:
            names = [f"{self.name}_{number}" for number in range(1, len(parts) + 1)]
        for name in names if len(parts) > 1 else ():
            if re.search(rf"\b{name}\b", self.source.text):
                self.fail(self.node, f"`{name}` is a name already")
        dropped = [
            n for part in parts for n in part.nodes if not any(n is one for one in part.kept)
        ]
        edits = list(self.braces())
        for name, part in zip(names, parts, strict=True):
            edits += self.part(name, part)
        outside = 0
        for node in between:
            outside += len(made := list(self.eager(node)))
            edits += made
        loose = [n for n in self.loose if self.is_own(n)]
        edits += [self.removed(node.span) for node in [*dropped, *loose]]
        edits += self.renamed(library, names, [*dropped, *loose])
        turned = sum(self.turns(node) for node in between)
        made = Break(
            self.name,
            self.node.span.line,
            tuple(sorted(self.whys.values())),
            tuple(names),
            sum(len(part.forks) for part in parts) + turned,
            sum(len(part.joins) for part in parts) + turned,
            len(dropped) + len(loose),
        )
        return made, edits

    # Parts

    def parts(self) -> tuple[list[_Part], list[syntax.Statement]]:
        """What becomes graphs, and what runs between them."""
        regions: list[list[syntax.Statement]] = [[]]
        between = []
        for node in self.node.body:
            if node.span.start in self.whys:
                between.append(node)
                regions.append([])
            else:
                regions[-1].append(node)
        working = [some for some in regions if any(self.streams[id(node)] for node in some)]
        self.loose = [node for some in regions if some not in working for node in some]
        parts = [_Part(nodes) for nodes in working]
        for part in parts:
            self.settle(part)
        return parts, between

    def settle(self, part: _Part) -> None:
        """Which edges stay, and which side streams have to be forked and joined."""
        known = {self.origin}
        for node in part.nodes:
            if (edge := _edge(node)) is not None:
                source, target = self.starts(edge, part), edge[1]
                if source is not None and source not in known:
                    continue  # from above the break: the origin orders that
                if target not in known and isinstance(node, syntax.Fork):
                    known.add(target)
                elif target not in known:
                    part.forks.append(target)
                    known.add(target)
            for stream in self.streams[id(node)] - known:
                part.forks.append(stream)
                known.add(stream)
            part.kept.append(node)
        self.drop_ends(part)
        part.joins = self.open_at_end(part)

    def starts(self, edge: tuple[syntax.Point, str], part: _Part) -> str | None:
        """The stream that an edge starts on; "" above the break; None: not in this capture."""
        point, _ = edge
        name = point.path[0].name.text
        if point.rounds_back:
            return None
        if name == self.name:
            return ""
        if name in self.home:
            node = self.node.body[self.home[name]]
            here = any(node is one for one in part.nodes)
            return next(iter(self.streams[id(node)]), "") if here else ""
        return name if name in self.sides() | {self.origin} else None

    def sides(self) -> set[str]:
        found = {stream for some in self.streams.values() for stream in some}
        found |= {edge[1] for one in self.node.body if (edge := _edge(one)) is not None}
        return found - {self.origin, "host"}

    def drop_ends(self, part: _Part) -> None:
        """Leaves out edges into side streams that do nothing more before the break."""
        needed: set[str] = set()
        kept = []
        for node in reversed(part.kept):
            if (edge := _edge(node)) is not None:
                if edge[1] != self.origin and edge[1] not in needed:
                    continue
                needed.add(self.starts(edge, part) or "")
            needed |= self.streams[id(node)]
            kept.append(node)
        part.kept = kept[::-1]
        used = {s for node in part.kept for s in self.streams[id(node)]}
        used |= {edge[1] for node in part.kept if (edge := _edge(node)) is not None}
        part.forks = [stream for stream in part.forks if stream in used]

    def open_at_end(self, part: _Part) -> list[str]:
        """Side streams with work that nothing has joined."""
        open: dict[str, int] = {}
        for place, node in enumerate(part.kept):
            if (edge := _edge(node)) is not None:
                source = self.starts(edge, part)
                name = edge[0].path[0].name.text
                last = [
                    n for n, one in enumerate(part.kept[:place]) if source in self.streams[id(one)]
                ]
                whole = name == source or (last and _label(part.kept[last[-1]]) == name)
                if source in open and whole:
                    del open[source]
                if edge[1] != self.origin and source != self.origin and source is not None:
                    open[edge[1]] = place
            open |= dict.fromkeys(self.streams[id(node)] - {self.origin}, place)
        return list(open)

    # Edits

    def braces(self) -> Iterator[Edit]:
        """The capture's own are taken off."""
        yield self.removed(Span(self.source, self.node.span.start, self.brace))
        end = self.node.span.end
        yield self.removed(Span(self.source, end - 1, end))

    @property
    def brace(self) -> int:
        """Behind the one that opens it."""
        behind = self.node.condition or self.node.pool or self.node.rows
        return self.source.text.index("{", behind.span.end) + 1

    def part(self, name: str, part: _Part) -> Iterator[Edit]:
        head = self.source.text[self.node.label.name.span.end : self.brace]
        forks = "".join(f"fork {stream} from {self.origin}\n" for stream in part.forks)
        joins = "".join(f"\njoin {stream} into {self.origin}" for stream in part.joins)
        start, end = part.kept[0].span.start, line_end(self.source, part.kept[-1].span.end)
        yield Edit(Span(self.source, start, start), f"capture {name}{head}\n{forks}")
        yield Edit(Span(self.source, end, end), f"{joins}\n}}")

    def turns(self, node: syntax.Statement) -> bool:
        """Whether an obstacle is on a side stream."""
        return not self.streams[id(node)] <= {self.origin, "host"}

    def eager(self, node: syntax.Statement) -> Iterator[Edit]:
        """What an obstacle needs around it, now that it stands between graphs."""
        if isinstance(node, syntax.Join):
            own = not node.point.rounds_back and self.is_own(node)
            if own and node.point.span.text != self.origin:
                yield Edit(node.point.span, self.origin)
        elif self.turns(node):
            (side,) = self.streams[id(node)]
            start, end = node.span.start, line_end(self.source, node.span.end)
            yield Edit(Span(self.source, start, start), f"fork {side} from {self.origin}\n")
            yield Edit(Span(self.source, end, end), f"\njoin {side} into {self.origin}")

    def is_own(self, node: syntax.Statement) -> bool:
        """Whether an edge starts from what is in this capture, and only there."""
        edge = _edge(node)
        return edge is not None and self.starts(edge, _Part([])) is not None

    def removed(self, span: Span) -> Edit:
        """A part of the text taken out, with its line where nothing else stands on it."""
        text, (start, end) = self.source.text, (span.start, span.end)
        first, last = text.rfind("\n", 0, start) + 1, text.find("\n", end)
        if last >= 0 and not (text[first:start] + text[end:last]).strip():
            start, end = first, last + 1
        return Edit(Span(self.source, start, end), "")

    def renamed(
        self, library: Library, names: list[str], dropped: list[syntax.Statement]
    ) -> Iterator[Edit]:
        """Who waits for it waits for the last part, who waits until it is loaded for the first."""
        if len(names) == 1:
            return
        found = names_in(library)
        for symbol in found.symbols:
            if not any(one.span == self.node.label.name.span for one in symbol.declarations):
                continue
            for one in symbol.occurrences:
                gone = any(node.span.start <= one.span.start < node.span.end for node in dropped)
                if one.declares or gone or one.span.source.name != self.source.name:
                    continue
                loaded = re.match(r"\s*\.\s*loaded\b", self.source.text[one.span.end :])
                yield one.edit(names[0 if loaded else -1])


def _label(node: syntax.Statement) -> str | None:
    if isinstance(node, syntax.Phase):
        return node.label.name.text
    if isinstance(node, syntax.Call):
        return (node.label.name if node.label else node.module[-1]).text
    return None


def _edge(node: syntax.Statement) -> tuple[syntax.Point, str] | None:
    """Where an edge starts, and the stream that waits."""
    if isinstance(node, syntax.Fork):
        return node.point, node.stream.text
    if isinstance(node, syntax.Join):
        return node.point, node.into.text
    return None


def _phases(node: syntax.Statement) -> list[syntax.Phase] | None:
    """All of a loop that holds nothing but phases."""
    if not isinstance(node, syntax.For):
        return None
    found: list[syntax.Phase] = []
    for inner in node.body:
        phases = [inner] if isinstance(inner, syntax.Phase) else _phases(inner)
        if phases is None:
            return None
        found += phases
    return found
