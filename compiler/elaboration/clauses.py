"""What a phase says of itself: its accesses, rows, collective and cost, with every size worked out."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NoReturn

from plait.compiler.elaboration.declare import Tables
from plait.compiler.elaboration.scope import Scope
from plait.compiler.round import HOST, Access, Axis, Collective
from plait.compiler.rows.extent import Extent, count, extent
from plait.dsl import syntax
from plait.dsl.diagnostic import Diagnostic, Label, SpecError
from plait.dsl.span import Span
from plait.dsl.suggest import did_you_mean
from plait.dsl.values import Measure, evaluate, kind, truth, whole
from plait.dsl.words import COLLECTIVES

MOST_TURNS = 4096
MOST_INDEX = 999_999_999


@dataclass
class Said:
    accesses: list[Access] = field(default_factory=list)
    named: set[int] = field(default_factory=set)
    """Places of accesses that say `as`."""
    rows: int | None = None
    extent: Extent | None = None
    rows_span: Span | None = None
    collective: Collective | None = None
    cost: Measure | None = None


@dataclass(frozen=True, eq=False, repr=False)
class Clauses:
    """Reads the clauses of one phase. Everything raises SpecError or Silenced."""

    tables: Tables
    scope: Scope
    where: str
    """The bucket and route, in the words of messages."""

    def of(self, node: syntax.Phase, stream: int) -> Said:
        said = Said()
        self.take(node.clauses, said)
        self._distinct(said)
        turns = math.lcm(*(self.tables.buffers[a.buffer].copies for a in said.accesses))
        if turns > MOST_TURNS:
            message = f"the phase meets the same copies again only after {turns:,} rounds"
            help = f"the most is {MOST_TURNS:,}: give its buffers the same number of `copies`"
            _fail("PL601", message, node.label.span, help)
        for access in said.accesses:
            buffer = self.tables.buffers[access.buffer]
            if stream == HOST and buffer.place == "pinned":
                message = f"a host phase touches `{buffer.name}`, which only streams may"
                _fail("PL114", message, access.span, "declare the buffer `on host`")
        return said

    def take(self, nodes: Iterable[syntax.Clause], said: Said) -> None:
        values = self.scope.values
        for node in nodes:
            match node:
                case syntax.Accesses():
                    for item in node.items:
                        if item.argument is not None:
                            said.named.add(len(said.accesses))
                        said.accesses.append(self.access(item, node.kind))
                case syntax.Rows():
                    said.rows, said.extent = self.row_count(node.count)
                    said.rows_span = node.count.span
                case syntax.Collective():
                    if said.collective is not None:
                        first = Label(said.collective.span, "the first")
                        message = "a phase takes part in one collective"
                        _fail("PL116", message, node.span, "split the phase", first)
                    said.collective = self.collective(node)
                case syntax.Cost():
                    cost = evaluate(node.amount, values)
                    if not isinstance(cost, Measure) or cost.counts != "ns" or cost.amount < 0:
                        help = "write it with a unit, as `35us`"
                        message = f"a time should stand here, not {kind(cost)}"
                        _fail("PL102", message, node.amount.span, help)
                    said.cost = cost
                case syntax.ClauseWhen():
                    if truth(node.condition, values):
                        self.take(node.clauses, said)

    def collective(self, node: syntax.Collective) -> Collective:
        name = node.kind.text
        if name not in COLLECTIVES:
            known = did_you_mean(name, COLLECTIVES)
            _fail("PL107", f"`{name}` is not a collective", node.kind.span, known)
        group = self.scope.find("group", node.group)
        capacity = None
        if node.capacity is not None:
            capacity = whole(node.capacity, self.scope.values)
            if capacity < 1:
                message = f"the capacity is {capacity}{self.where}"
                _fail("PL601", message, node.capacity.span, "it counts rows, from 1")
        return Collective(name, group, node.span, capacity)

    def row_count(self, node: syntax.Expression) -> tuple[int, Extent | None]:
        values = self.scope.values
        known = extent(node, values, self.scope.sized)
        rows = count(node, values, known, self.where)
        if rows < 1:
            _fail("PL601", f"`{node.span.text}` is {rows} rows{self.where}", node.span)
        return rows, known

    # Accesses

    def access(self, node: syntax.Access, word: str) -> Access:
        number = self.buffer(node)
        argument = (node.argument or node.buffer).text
        region = None if node.region is None else self.region(node, number)
        if word != "reads" and node.rounds_back:
            message = f"`{node.span.text}` {word} a value of an earlier round"
            _fail("PL111", message, node.span, "only `reads` may say `prev`")
        if self.tables.buffers[number].scratch and word != "updates":
            name = node.buffer.text
            message = f"`{name}` is scratch, which holds nothing for a phase that {word} it"
            help = f"say `updates {name}`, or take `scratch` off the buffer"
            _fail("PL113", message, node.span, help)
        return Access(number, word, argument, node.span, node.rounds_back, region)  # type: ignore[arg-type]

    def buffer(self, node: syntax.Access) -> int:
        scope = self.scope
        for label in node.within:
            name = point_name(label, self.scope)
            named = scope.points.get(name)
            if named is None or named.scope is None:
                calls = [name for name, point in scope.points.items() if point.scope]
                help = did_you_mean(name, calls)
                _fail("PL101", f"no call `{name}` stands above this line", label.span, help)
            scope = named.scope
        return scope.find("buffer", node.buffer)

    def region(self, node: syntax.Access, number: int) -> tuple[Axis, ...]:
        """The entry of each axis; those not written are whole."""
        buffer = self.tables.buffers[number]
        assert node.region is not None
        shape = buffer.shape
        if shape is not None and len(node.region) > len(shape):
            message = f"`{buffer.name}` has {len(shape)} axes, and the region {len(node.region)}"
            _fail("PL601", message, node.span, "write one entry for each axis")
        axes: list[Axis] = []
        for place, axis in enumerate(node.region):
            size = None if shape is None else shape[place]
            axes.append(self.axis(axis, size, buffer.name))
        if shape is not None:
            axes += [None] * (len(shape) - len(axes))
        return tuple(axes)

    def axis(self, node: syntax.Axis, size: int | None, buffer: str) -> Axis:
        if isinstance(node, syntax.Whole):
            return None
        values = self.scope.values
        if isinstance(node, syntax.Range):
            first, last = whole(node.first, values), whole(node.last, values)
            fits = 0 <= first <= last and (size is None or last < size)
            axis: Axis = (first, last + 1)
        else:
            axis = first = whole(node, values)
            fits = first >= 0 and (size is None or first < size)
        if not fits:
            many = "1 entry" if size == 1 else f"{size} entries"
            has = "" if size is None else f", which has {many} counted from 0"
            message = f"`{node.span.text}` is outside this axis of `{buffer}`{has}{self.where}"
            _fail(
                "PL601", message, node.span, "entries count from 0, and a range has both its ends"
            )
        return axis

    def _distinct(self, said: Said) -> None:
        """Gives every access its own argument: of a buffer read and written apart, two."""
        places: dict[str, list[int]] = {}
        for place, access in enumerate(said.accesses):
            places.setdefault(access.argument, []).append(place)
        for argument, (first, *rest) in places.items():
            if not rest:
                continue
            pair = [said.accesses[place] for place in (first, rest[0])]
            apart = {access.kind for access in pair} == {"reads", "writes"}
            if len(rest) > 1 or not apart or said.named & {first, *rest}:
                message = f"two accesses give the phase an argument `{argument}`"
                help = "name one with `as`, or say `updates` for a buffer both read and written"
                _fail("PL108", message, pair[1].span, help, Label(pair[0].span, "the first"))
            for place, access in zip((first, rest[0]), pair, strict=True):
                end = "in" if access.kind == "reads" else "out"
                said.accesses[place] = access.replace(argument=f"{argument}_{end}")
        if len({access.argument for access in said.accesses}) < len(said.accesses):
            last = said.accesses[-1]
            message = f"`{last.argument}` is what a buffer that is read and written is seen as"
            _fail("PL108", message, last.span, "give the others a name with `as`")


def point_name(label: syntax.Label, scope: Scope) -> str:
    """A label as names are written: with the value of its index. Raises SpecError, Silenced."""
    if label.index is None:
        return label.name.text
    index = whole(label.index, scope.values)
    if not 0 <= index <= MOST_INDEX:
        message = f"an index counts from 0, up to {MOST_INDEX:,}; this is {index}"
        _fail("PL601", message, label.index.span)
    return f"{label.name.text}[{index}]"


def _fail(code: str, message: str, span: Span, help: str = "", *labels: Label) -> NoReturn:
    raise SpecError([Diagnostic(code, message, span, help=help, labels=labels)])
