"""The tables of a round: streams, buffers, groups and pools, from their declarations.

A module declares buffers of its own, one set a call, and names for streams, never streams.
"""

from __future__ import annotations

from typing import NoReturn

from plait.compiler.elaboration.scope import Scope
from plait.compiler.round import Buffer, Group, Pool, Stream
from plait.compiler.rows.extent import Extent, count, extent
from plait.dsl import syntax
from plait.dsl.diagnostic import Diagnostic, SpecError
from plait.dsl.span import Span
from plait.dsl.suggest import did_you_mean
from plait.dsl.values import Dtype, truth, whole
from plait.dsl.words import BUFFER_ATTRIBUTES, DTYPES, STREAM_KINDS

NUMBERED = ("copies", "pad")
PLACES = ("host", "pinned")
MOST_COPIES = 64
MOST_ELEMENTS = 1 << 48


class Tables:
    """What the round is made of. Stream 0 is the host."""

    def __init__(self) -> None:
        self.streams: list[Stream] = [Stream("host", "host", None)]
        self.buffers: list[Buffer] = []
        self.groups: list[Group] = []
        self.pools: list[Pool] = []
        self.in_flight: dict[str, int] = {}
        """Streams that stand for operations in flight, by the name of their launch."""

    def stream(self, node: syntax.Stream, scope: Scope) -> None:
        """Adds a stream, or another name for one. Raises SpecError, Silenced."""
        scope.declare("stream", node.name)
        kind = node.kind.text if node.kind else "compute"
        if node.kind is not None and kind not in STREAM_KINDS:
            known = did_you_mean(kind, STREAM_KINDS)
            _fail("PL107", f"`{kind}` is not a class of stream", node.kind.span, known)
        chosen = node.condition is None or truth(node.condition, scope.values)
        other = node.alias if chosen else node.otherwise
        if other is not None:
            number = scope.find("stream", other)
        elif scope.caller is not None:
            help = f"write `stream {node.name.text} = STREAM`, or make it a formal of the module"
            _fail("PL109", "a module names streams and never makes one", node.span, help)
        else:
            number = len(self.streams)
            self.streams.append(Stream(node.name.text, kind, node.span))
        scope.numbers["stream"][node.name.text] = number

    def flight(self, label: syntax.Label, name: str) -> int:
        """The stream of an operation in flight: one for all launches of a name."""
        if name not in self.in_flight:
            self.in_flight[name] = len(self.streams)
            self.streams.append(Stream(name, "comm", label.span))
        return self.in_flight[name]

    def group(self, node: syntax.Group, scope: Scope) -> None:
        scope.declare("group", node.name)
        size = None if node.size is None else _positive(node.size, scope, "ranks")
        inside = None if node.inside is None else scope.find("group", node.inside)
        scope.numbers["group"][node.name.text] = len(self.groups)
        self.groups.append(Group(node.name.text, node.span, size, inside))

    def pool(self, node: syntax.Pool, scope: Scope) -> None:
        scope.declare("pool", node.name)
        size = None if node.size is None else _positive(node.size, scope, "values")
        scope.numbers["pool"][node.name.text] = len(self.pools)
        self.pools.append(Pool(node.name.text, node.span, size))

    def buffer(self, node: syntax.Buffer, scope: Scope, where: str) -> None:
        """Adds a buffer. `where` names the bucket in messages. Raises SpecError, Silenced."""
        scope.declare("buffer", node.name)
        dtype = _dtype(node.dtype, scope)
        if dtype != "opaque" and node.shape is None:
            help = f"write `{node.dtype.text}[SIZE, ...]`, or `opaque`"
            _fail("PL107", f"`{node.name.text}` has no shape", node.span, help)
        shape, axes = (None, ()) if node.shape is None else _shape(node, scope, where)
        name, span = scope.prefix + node.name.text, node.name.span
        buffer = Buffer(name, dtype, shape, span, axes=axes, statement=node.span)
        for attribute in node.attributes:
            buffer = _with(buffer, attribute, scope)
        scope.numbers["buffer"][node.name.text] = len(self.buffers)
        self.buffers.append(buffer)


def _dtype(name: syntax.Name, scope: Scope) -> str:
    """A type by its own name, or by that of a param that holds one."""
    if name.text in DTYPES or name.text == "opaque":
        return name.text
    value = scope.values.get(name.text)
    if isinstance(value, Dtype):
        return value.name
    known = did_you_mean(name.text, (*DTYPES, "opaque"))
    _fail("PL107", f"`{name.text}` is not a type of buffer", name.span, known)


def _positive(node: syntax.Expression, scope: Scope, what: str) -> int:
    size = whole(node, scope.values)
    if size < 1:
        _fail("PL601", f"{size} {what} are fewer than one", node.span)
    return size


def _shape(
    node: syntax.Buffer, scope: Scope, where: str
) -> tuple[tuple[int, ...], tuple[Extent | None, ...]]:
    sizes = []
    axes = []
    elements = 1
    for axis in node.shape or ():
        known = extent(axis, scope.values, scope.sized)
        size = count(axis, scope.values, known, where)
        elements *= max(size, 1)
        if size < 1 or elements > MOST_ELEMENTS:
            message = f"an axis of `{node.name.text}` is {size}{where}"
            help = f"sizes are 1 or more, and a buffer has at most {MOST_ELEMENTS:,} elements"
            _fail("PL601", message, axis.span, help)
        sizes.append(size)
        axes.append(known)
    return tuple(sizes), tuple(axes)


def _with(buffer: Buffer, attribute: syntax.Attribute, scope: Scope) -> Buffer:
    """The buffer with one attribute more."""
    name, number, place = attribute.name.text, attribute.number, attribute.place
    if place is not None:
        if name == "in":
            return buffer.replace(pool=scope.find("pool", place))
        if place.text not in PLACES:
            known = did_you_mean(place.text, PLACES)
            _fail("PL107", f"a buffer lies on {' or '.join(PLACES)} memory", place.span, known)
        return buffer.replace(place=place.text)
    if name not in BUFFER_ATTRIBUTES:
        known = did_you_mean(name, BUFFER_ATTRIBUTES)
        _fail("PL107", f"`{name}` is not an attribute of a buffer", attribute.span, known)
    if (name in NUMBERED) != (number is not None):
        help = f"write `{name} {'2' if name == 'copies' else '0'}`" if name in NUMBERED else ""
        help = help or f"write `{name}`"
        _fail("PL107", f"`{attribute.span.text}` is not an attribute", attribute.span, help)
    if name == "copies" and not (isinstance(number, int) and 1 <= number <= MOST_COPIES):
        message = f"a buffer has 1 to {MOST_COPIES} copies, not {number}"
        _fail("PL107", message, attribute.span)
    return buffer.replace(**{name: True if number is None else number})


def _fail(code: str, message: str, span: Span, help: str = "") -> NoReturn:
    raise SpecError([Diagnostic(code, message, span, help=help)])
