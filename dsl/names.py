"""Which name means what, from syntax alone: the symbols of a file and of all it uses.

Nothing is evaluated: both branches of a `when` count, a name is looked for in its whole scope, and an
index says nothing. Names that must stay the same are one symbol: those that exclusive branches declare
alike, and what two modules call alike where a call could be of either. Groups and pools are the
pipeline's, whatever modules name them, so in one library those of a name are one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any

from plait.dsl import syntax
from plait.dsl.diagnostic import SpecError
from plait.dsl.library import Library
from plait.dsl.span import Span
from plait.dsl.symbols import Home, Kind, Names, Occurrence, Symbol
from plait.dsl.words import DTYPES

WORDS = frozenset([*DTYPES, "opaque"])
_OPENING = re.compile(r"(?:[^#(]|#[^\n]*)*\(")
EVERYWHERE = 0
"""The scope of groups and pools."""


def names_in(library: Library) -> Names:
    """Every name of the library's file, and of the files that it uses."""
    return _Index(library).names()


@dataclass(eq=False)
class _Scope:
    """What a pipeline or a module declares, by the sort of thing."""

    number: int
    library: Library
    owner: syntax.Pipeline | syntax.Module | None = None
    value: dict[str, int] = field(default_factory=dict)
    point: dict[str, int] = field(default_factory=dict)
    buffer: dict[str, int] = field(default_factory=dict)
    calls: dict[str, list[syntax.Call]] = field(default_factory=dict)
    streams: set[str] = field(default_factory=set)


@dataclass(eq=False)
class _Made:
    """A symbol while it is being put together."""

    name: str
    kind: Kind
    node: syntax.Node
    owner: syntax.Pipeline | syntax.Module | None
    homes: set[Home]


class _Index:
    def __init__(self, library: Library):
        self.made: list[_Made] = []
        self.same: list[int] = []
        """Of each symbol one that it is the same as, or itself."""
        self.found: list[Occurrence] = []
        self.implied: list[tuple[syntax.Call, str, int, int]] = []
        self.unknown: list[syntax.Name] = []
        self.scopes: dict[int, _Scope] = {}
        """By the id of the pipeline, module or file."""
        self.everywhere: dict[str, dict[str, int]] = {"group": {}, "pool": {}}
        self.arguments: dict[tuple[int, str], int] = {}
        self.files: dict[int, dict[str, dict[str, int]]] = {}
        """Of each file, its pipelines, modules and used files."""
        self.variants: dict[tuple[int, str, str], int] = {}
        self.libraries = list(_libraries(library))
        for step in (self.declare_file, self.declare_bodies, self.refer_in_file):
            for one in self.libraries:
                step(one)

    # Symbols

    def new(
        self, name: syntax.Name, kind: Kind, node: syntax.Node, scope: _Scope, sort: str
    ) -> int:
        self.made.append(
            _Made(name.text, kind, node, scope.owner, {(scope.number, sort)}),
        )
        self.same.append(len(self.same))
        return len(self.same) - 1

    def root(self, number: int) -> int:
        while self.same[number] != number:
            number = self.same[number]
        return number

    def unite(self, numbers: Iterable[int]) -> int | None:
        """Makes one symbol of several; the first of them."""
        roots = sorted({self.root(number) for number in numbers})
        for other in roots[1:]:
            self.same[other] = roots[0]
            self.made[roots[0]].homes |= self.made[other].homes
        return roots[0] if roots else None

    def say(self, name: syntax.Node, symbol: int, **more: Any) -> None:
        self.found.append(Occurrence(name.span, symbol, **more))

    def declare(
        self,
        table: dict[str, int],
        name: syntax.Name,
        kind: Kind,
        node: syntax.Node,
        scope: _Scope,
        sort: str,
    ) -> None:
        if name.text not in table:
            table[name.text] = self.new(name, kind, node, scope, sort)
        self.say(name, table[name.text], declares=True)

    def refer(self, table: dict[str, int], name: syntax.Name, **more: Any) -> None:
        if name.text in table:
            self.say(name, table[name.text], **more)
        else:
            self.unknown.append(name)

    # Declarations

    def scope(self, node: syntax.Node, library: Library) -> _Scope:
        if id(node) not in self.scopes:
            owner = node if isinstance(node, syntax.Pipeline | syntax.Module) else None
            self.scopes[id(node)] = _Scope(len(self.scopes) + 1, library, owner)
        return self.scopes[id(node)]

    def declare_file(self, library: Library) -> None:
        file = library.file
        outer = self.scope(file, library)
        tables: dict[str, dict[str, int]] = {"pipeline": {}, "module": {}, "file": {}}
        self.files[id(file)] = tables
        for use in file.uses:
            self.use(use, tables["file"], outer)
        for pipeline in file.pipelines:
            self.declare(tables["pipeline"], pipeline.name, "pipeline", pipeline, outer, "pipeline")
        for module in file.modules:
            self.declare(tables["module"], module.name, "module", module, outer, "module")
        for variant in file.variants:
            key = (id(file), variant.of.text, variant.name.text)
            if key not in self.variants:
                sort = f"variant {variant.of.text}"
                self.variants[key] = self.new(variant.name, "variant", variant, outer, sort)
            self.say(variant.name, self.variants[key], declares=True)

    def declare_bodies(self, library: Library) -> None:
        file = library.file
        for pipeline in file.pipelines:
            self.declare_body(pipeline.body, self.scope(pipeline, library))
        for module in file.modules:
            scope = self.scope(module, library)
            for formal in module.formals:
                self.formal(formal, scope)
            self.declare_body(module.body, scope)

    def use(self, use: syntax.Use, table: dict[str, int], outer: _Scope) -> None:
        name = use.alias
        if name is None:
            name = syntax.Name(use.source.span, used_as(use))
        if name.text not in table:
            table[name.text] = self.new(name, "file", use, outer, "file")
        before = "" if use.alias else f"{use.source.span.text} as "
        self.say(name, table[name.text], declares=True, before=before)

    def formal(self, node: syntax.Formal, scope: _Scope) -> None:
        if node.kind == "stream":
            self.stream(node.name, node, scope)
        elif node.kind == "buffer":
            self.declare(scope.buffer, node.name, "buffer", node, scope, "buffer")
        else:
            self.declare(scope.value, node.name, "value", node, scope, "value")

    def stream(self, name: syntax.Name, node: syntax.Node, scope: _Scope) -> None:
        scope.streams.add(name.text)
        self.declare(scope.point, name, "stream", node, scope, "point")

    def declare_body(self, nodes: Iterable[syntax.Statement], scope: _Scope) -> None:
        for node in nodes:
            match node:
                case syntax.Param():
                    self.declare(scope.value, node.name, "param", node, scope, "value")
                case syntax.Flag():
                    self.declare(scope.value, node.name, "flag", node, scope, "value")
                case syntax.Dim():
                    self.declare(scope.value, node.name, "dim", node, scope, "value")
                case syntax.Guard():
                    self.declare(scope.value, node.name, "guard", node, scope, "value")
                case syntax.Group():
                    self.shared("group", node, scope)
                case syntax.Pool():
                    self.shared("pool", node, scope)
                case syntax.Stream():
                    self.stream(node.name, node, scope)
                case syntax.Buffer():
                    self.declare(scope.buffer, node.name, "buffer", node, scope, "buffer")
                case syntax.Phase():
                    kind = "launch" if node.launched else "phase"
                    self.declare(scope.point, node.label.name, kind, node, scope, "point")
                case syntax.Capture():
                    self.declare(scope.point, node.label.name, "capture", node, scope, "point")
                    self.declare_body(node.body, scope)
                case syntax.Call():
                    self.call_point(node, scope)
                case syntax.Interleave():
                    self.call_point(node.first, scope)
                    self.call_point(node.second, scope)
                case syntax.For():
                    self.declare_body(node.body, scope)
                case syntax.When():
                    self.declare_body(node.body, scope)
                    self.declare_body(node.otherwise, scope)

    def shared(self, kind: Kind, node: syntax.Group | syntax.Pool, scope: _Scope) -> None:
        everywhere = _Scope(EVERYWHERE, scope.library, scope.owner)
        self.declare(self.everywhere[kind], node.name, kind, node, everywhere, kind)

    def call_point(self, node: syntax.Call, scope: _Scope) -> None:
        """A call is known by its label, else by the name of its module, which is then one with it."""
        name = node.label.name if node.label else node.module[-1]
        scope.calls.setdefault(name.text, []).append(node)
        if node.label is not None:
            self.declare(scope.point, name, "call", node, scope, "point")
            return
        found = _module(scope.library, node)
        if found is None:
            self.declare(scope.point, name, "call", node, scope, "point")
            return
        number = self.of_module(*found)
        self.made[self.root(number)].homes.add((scope.number, "point"))
        self.unite((number, scope.point.setdefault(name.text, number)))

    def of_module(self, module: syntax.Module, library: Library) -> int:
        return self.files[id(library.file)]["module"][module.name.text]

    # References

    def refer_in_file(self, library: Library) -> None:
        file = library.file
        tables = self.files[id(file)]
        for pipeline in file.pipelines:
            self.refer_in(pipeline.body, self.scope(pipeline, library), {})
        for module in file.modules:
            scope = self.scope(module, library)
            for formal in module.formals:
                if formal.default is not None:
                    self.expression(formal.default, scope, {})
            self.refer_in(module.body, scope, {})
        for variant in file.variants:
            self.refer(tables["pipeline"], variant.of)
            of = next((p for p in file.pipelines if p.name.text == variant.of.text), None)
            for setting in variant.settings:
                scope = None if of is None else self.scope(of, library)
                self.refer(scope.value if scope else {}, setting.name)
                if scope is not None:
                    self.expression(setting.value, scope, {})

    def refer_in(
        self, nodes: Iterable[syntax.Statement], scope: _Scope, loops: dict[str, int]
    ) -> None:
        for node in nodes:
            self.statement(node, scope, loops)

    def statement(self, node: syntax.Statement, scope: _Scope, loops: dict[str, int]) -> None:
        def values(*expressions: syntax.Expression | None) -> None:
            for one in expressions:
                if one is not None:
                    self.expression(one, scope, loops)

        match node:
            case syntax.Param():
                values(node.choices, node.value)
            case syntax.Flag():
                values(node.value)
            case syntax.Require():
                values(node.condition)
            case syntax.Dim():
                values(node.sizes)
                self.agreement(node.agreement)
            case syntax.Guard():
                self.agreement(node.agreement)
                values(node.condition, node.otherwise)
            case syntax.Group():
                values(node.size)
                self.everywhere_named("group", node.inside)
            case syntax.Pool():
                values(node.size)
            case syntax.Stream():
                self.on(node.alias, scope)
                values(node.condition)
                self.on(node.otherwise, scope)
            case syntax.Buffer():
                self.buffer(node, scope, loops)
            case syntax.Assume():
                for access in node.accesses:
                    self.access(access, "reads", None, scope, loops)
            case syntax.Phase():
                values(node.label.index)
                self.on(node.stream, scope)
                self.clauses(node.clauses, node, scope, loops)
            case syntax.Await():
                self.path(node.point.path, scope, loops)
                self.on(node.stream, scope)
            case syntax.Fork():
                self.on(node.stream, scope)
                self.path(node.point.path, scope, loops)
            case syntax.Join():
                self.path(node.point.path, scope, loops)
                self.on(node.into, scope)
            case syntax.Capture():
                values(node.label.index, node.rows, node.condition)
                self.on(node.stream, scope)
                self.everywhere_named("pool", node.pool)
                self.refer_in(node.body, scope, loops)
            case syntax.Call():
                self.call(node, scope, loops)
            case syntax.Interleave():
                values(node.behind)
                self.call(node.first, scope, loops)
                self.call(node.second, scope, loops)
            case syntax.For():
                values(node.first, node.last)
                number = self.new(node.name, "loop", node, scope, "value")
                self.say(node.name, number, declares=True)
                self.refer_in(node.body, scope, {**loops, node.name.text: number})
            case syntax.When():
                values(node.condition)
                self.refer_in(node.body, scope, loops)
                self.refer_in(node.otherwise, scope, loops)

    def agreement(self, node: syntax.Agreement | None) -> None:
        self.everywhere_named("group", None if node is None else node.group)

    def everywhere_named(self, sort: str, name: syntax.Name | None) -> None:
        if name is not None:
            self.refer(self.everywhere[sort], name)

    def on(self, name: syntax.Name | None, scope: _Scope) -> None:
        """A stream; `host` is built in."""
        if name is not None and name.text != "host":
            self.refer({n: scope.point[n] for n in (name.text,) if n in scope.streams}, name)

    def expression(self, node: syntax.Expression, scope: _Scope, loops: dict[str, int]) -> None:
        match node:
            case syntax.Reference(name=name):
                self.value(name, scope, loops)
            case syntax.Function(arguments=parts) | syntax.Sequence(items=parts):
                for part in parts:
                    self.expression(part, scope, loops)
            case syntax.Item(name=name, index=index):
                self.value(name, scope, loops)
                self.expression(index, scope, loops)
            case syntax.Unary(operand=operand):
                self.expression(operand, scope, loops)
            case syntax.Binary(left=left, right=right):
                self.expression(left, scope, loops)
                self.expression(right, scope, loops)

    def value(self, name: syntax.Name, scope: _Scope, loops: dict[str, int]) -> None:
        known = scope.value | loops
        if name.text in known or name.text not in WORDS:
            self.refer(known, name)

    def buffer(self, node: syntax.Buffer, scope: _Scope, loops: dict[str, int]) -> None:
        if node.dtype.text not in WORDS:
            self.value(node.dtype, scope, loops)
        for axis in node.shape or ():
            self.expression(axis, scope, loops)
        for attribute in node.attributes:
            if attribute.name.text == "in":
                self.everywhere_named("pool", attribute.place)

    # Phases

    def clauses(
        self,
        nodes: Iterable[syntax.Clause],
        phase: syntax.Phase,
        scope: _Scope,
        loops: dict[str, int],
    ) -> None:
        for node in nodes:
            match node:
                case syntax.Accesses():
                    for access in node.items:
                        self.access(access, node.kind, phase, scope, loops)
                case syntax.Rows(count=one) | syntax.Cost(amount=one):
                    self.expression(one, scope, loops)
                case syntax.Collective():
                    self.everywhere_named("group", node.group)
                    if node.capacity is not None:
                        self.expression(node.capacity, scope, loops)
                case syntax.ClauseWhen():
                    self.expression(node.condition, scope, loops)
                    self.clauses(node.clauses, phase, scope, loops)

    def access(
        self,
        node: syntax.Access,
        role: str,
        phase: syntax.Phase | None,
        scope: _Scope,
        loops: dict[str, int],
    ) -> None:
        scopes = self.members(node.within, scope, loops)
        name = node.buffer
        number = self.unite(s.buffer[name.text] for s in scopes if name.text in s.buffer)
        if number is None:
            self.unknown.append(name)
        else:
            self.say(name, number, role=role, phase=phase)
        for axis in node.region or ():
            match axis:
                case syntax.Range(first=first, last=last):
                    self.expression(first, scope, loops)
                    self.expression(last, scope, loops)
                case syntax.Whole():
                    pass
                case _:
                    self.expression(axis, scope, loops)
        if phase is None:
            return
        inner = self.scope(phase, scope.library)
        inner.owner = scope.owner
        if node.argument is not None:
            key = (id(phase), node.argument.text)
            if key not in self.arguments:
                number = self.new(node.argument, "argument", node, inner, "argument")
                self.arguments[key] = number
            self.say(node.argument, self.arguments[key], declares=True, phase=phase)
        elif number is not None:  # the buffer's name is the argument's too
            self.made[number].homes.add((inner.number, "argument"))

    # Paths and calls

    def members(
        self, labels: tuple[syntax.Label, ...], scope: _Scope, loops: dict[str, int]
    ) -> list[_Scope]:
        """The modules that a path through calls may lead into; its labels are said on the way."""
        scopes = [scope]
        for label in labels:
            scopes = self.step(label, scopes, scope, loops)
        return scopes

    def step(
        self, label: syntax.Label, scopes: list[_Scope], outer: _Scope, loops: dict[str, int]
    ) -> list[_Scope]:
        name = label.name
        number = self.unite(s.point[name.text] for s in scopes if name.text in s.point)
        if number is not None:
            self.say(name, number)
        else:
            self.unknown.append(name)
        if label.index is not None:
            self.expression(label.index, outer, loops)
        return [inner for one in scopes for inner in self.called(one, name.text)]

    def called(self, scope: _Scope, name: str) -> Iterator[_Scope]:
        for call in scope.calls.get(name, ()):
            if (found := _module(scope.library, call)) is not None:
                yield self.scope(*found)

    def path(self, labels: tuple[syntax.Label, ...], scope: _Scope, loops: dict[str, int]) -> None:
        first = labels[0].name
        if len(labels) == 1 and first.text == "host":
            return
        scopes = [scope]
        for place, label in enumerate(labels):
            if place and label.name.text == "loaded" and not scopes:
                return  # of a capture
            scopes = self.step(label, scopes, scope, loops)

    def call(self, node: syntax.Call, scope: _Scope, loops: dict[str, int]) -> None:
        self.callee(node, scope.library)
        found = _module(scope.library, node)
        formals = {} if found is None else {one.name.text: one for one in found[0].formals}
        inner = None if found is None else self.scope(*found)
        given = set()
        for actual in node.actuals:
            given.add(actual.name.text)
            formal = formals.get(actual.name.text)
            if formal is None or inner is None:
                self.unknown.append(actual.name)
                self.expression(actual.value, scope, loops)
            else:
                self.say(actual.name, _table(inner, formal)[formal.name.text])
                self.actual(formal, actual.value, scope, loops)
        for name, formal in formals.items():
            if name not in given and inner is not None:
                self.imply(node, formal, scope, loops, inner)
        if node.label is not None and node.label.index is not None:
            self.expression(node.label.index, scope, loops)

    def callee(self, node: syntax.Call, library: Library) -> None:
        *files, last = node.module
        for name in files:
            self.refer(self.files[id(library.file)]["file"], name)
            if name.text not in library.used:
                return
            library = library.used[name.text]
        self.refer(self.files[id(library.file)]["module"], last)

    def actual(
        self,
        formal: syntax.Formal,
        value: syntax.Expression,
        scope: _Scope,
        loops: dict[str, int],
    ) -> None:
        if formal.kind == "value" or not isinstance(value, syntax.Reference):
            self.expression(value, scope, loops)
        elif formal.kind == "stream":
            self.on(value.name, scope)
        else:
            self.refer(scope.buffer, value.name)

    def imply(
        self,
        node: syntax.Call,
        formal: syntax.Formal,
        scope: _Scope,
        loops: dict[str, int],
        inner: _Scope,
    ) -> None:
        """A formal that the call does not give is what has its name where the call stands."""
        name = formal.name.text
        known = scope.value | loops if formal.kind == "value" else _table(scope, formal)
        if formal.default is None and name in known:
            self.implied.append((node, name, known[name], _table(inner, formal)[name]))

    # The whole

    def names(self) -> Names:
        for call, name, ours, theirs in self.implied:
            if self.root(ours) != self.root(theirs):
                place, comma = _first_actual(call)
                for symbol, before, after in ((ours, f"{name} = ", ""), (theirs, "", f" = {name}")):
                    self.found.append(
                        Occurrence(place, symbol, before=before, after=after + comma, implied=True)
                    )
        roots = sorted({self.root(number) for number in range(len(self.same))})
        numbers = {root: number for number, root in enumerate(roots)}
        order = {id(one.file.span.source): place for place, one in enumerate(self.libraries)}
        found = [one.replace(symbol=numbers[self.root(one.symbol)]) for one in self.found]
        found.sort(key=lambda one: (order[id(one.span.source)], one.span.start, one.span.end))
        of: list[list[Occurrence]] = [[] for _ in roots]
        for one in found:
            of[one.symbol].append(one)
        symbols = tuple(
            Symbol(
                self.made[root].name,
                self.made[root].kind,
                self.made[root].node,
                self.made[root].owner,
                frozenset(self.made[root].homes),
                tuple(occurrences),
            )
            for root, occurrences in zip(roots, of, strict=True)
        )
        taken = frozenset((home, one.name) for one in symbols for home in one.homes)
        return Names(symbols, tuple(found), tuple(self.unknown), taken)


def used_as(use: syntax.Use) -> str:
    """The name by which a used file's modules are called."""
    if use.alias is not None:
        return use.alias.text
    if isinstance(use.source, syntax.Name):
        return use.source.text
    return PurePosixPath(use.source.value).stem


def _libraries(library: Library) -> Iterator[Library]:
    """The library and those it uses, each file once."""
    seen: dict[int, Library] = {}
    waiting = [library]
    while waiting:
        one = waiting.pop()
        if id(one.file) not in seen:
            seen[id(one.file)] = one
            yield one
            waiting += reversed(one.used.values())


def _module(library: Library, node: syntax.Call) -> tuple[syntax.Module, Library] | None:
    try:
        return library.find(node.module)
    except SpecError:
        return None


def _table(scope: _Scope, formal: syntax.Formal) -> dict[str, int]:
    """The names among which a formal is, in a scope."""
    if formal.kind == "stream":
        return {name: scope.point[name] for name in scope.streams}
    return scope.buffer if formal.kind == "buffer" else scope.value


def _first_actual(node: syntax.Call) -> tuple[Span, str]:
    """Where another actual may be written, and what stands between it and the next."""
    source, end = node.span.source, node.module[-1].span.end
    opening = _OPENING.match(source.text, end)
    at = end if opening is None else opening.end()
    return Span(source, at, at), ", " if node.actuals else ""
