"""Streams and buffers of a round, from their declarations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import NoReturn

from plait.compiler.round import HOST, Buffer, Stream
from plait.dsl import syntax
from plait.dsl.diagnostic import Diagnostic, Label, SpecError
from plait.dsl.span import Span
from plait.dsl.suggest import did_you_mean
from plait.dsl.values import Broken, Silenced, Value, truth, whole

STREAM_KINDS = ("compute", "comm", "copy", "update")
DTYPES = ("bool", "u8", "i8", "i16", "i32", "i64", "f16", "bf16", "f32", "f64")
ATTRIBUTES = ("carried", "copies", "on", "scratch", "static")
PLACES = ("host", "pinned")
MOST_COPIES = 64
MOST_ELEMENTS = 1 << 48

Scope = Mapping[str, "Value | Broken"]


class Streams:
    """The device streams and every name that stands for one. Stream 0 is the host."""

    def __init__(self) -> None:
        self.all: list[Stream] = [Stream("host", "host", None)]
        self.by_name: dict[str, int] = {"host": HOST}
        self.declared: dict[str, Span] = {}

    def declare(self, node: syntax.Stream, scope: Scope) -> None:
        """Adds a stream, or another name for one. Raises SpecError, Silenced."""
        name = node.name.text
        _once(node.name, self.declared)
        if node.kind is not None and node.kind.text not in STREAM_KINDS:
            known = did_you_mean(node.kind.text, STREAM_KINDS)
            _fail("PL107", f"`{node.kind.text}` is not a class of stream", node.kind.span, known)
        chosen = node.condition is None or truth(node.condition, scope)
        other = node.alias if chosen else node.otherwise
        if other is not None:
            self.by_name[name] = self.find(other)
            return
        self.by_name[name] = len(self.all)
        self.all.append(Stream(name, node.kind.text if node.kind else "compute", node.span))

    def find(self, name: syntax.Name) -> int:
        """The stream a name stands for. Raises SpecError."""
        if name.text not in self.by_name:
            _silent_if_declared(name, self.declared)
            known = did_you_mean(name.text, self.by_name)
            _fail("PL101", f"`{name.text}` is not a stream", name.span, known)
        return self.by_name[name.text]


class Buffers:
    def __init__(self) -> None:
        self.all: list[Buffer] = []
        self.by_name: dict[str, int] = {}
        self.declared: dict[str, Span] = {}

    def declare(self, node: syntax.Buffer, scope: Scope, where: str) -> None:
        """Adds a buffer. `where` names the bucket in messages. Raises SpecError, Silenced."""
        _once(node.name, self.declared)
        opaque = node.dtype.text == "opaque"
        if not opaque and node.dtype.text not in DTYPES:
            known = did_you_mean(node.dtype.text, (*DTYPES, "opaque"))
            _fail("PL107", f"`{node.dtype.text}` is not a type of buffer", node.dtype.span, known)
        if opaque and node.shape is not None:
            _fail("PL107", "an opaque buffer has no shape", node.span, "leave the sizes out")
        if not opaque and node.shape is None:
            help = f"write `{node.dtype.text}[SIZE, ...]`, or `opaque`"
            _fail("PL107", f"`{node.name.text}` has no shape", node.span, help)
        shape = None if node.shape is None else _shape(node, scope, where)
        buffer = Buffer(node.name.text, node.dtype.text, shape, node.name.span)
        for attribute in node.attributes:
            buffer = _with(buffer, attribute)
        self.by_name[node.name.text] = len(self.all)
        self.all.append(buffer)

    def find(self, name: syntax.Name) -> int:
        """The buffer of that name. Raises SpecError."""
        if name.text not in self.by_name:
            _silent_if_declared(name, self.declared)
            known = did_you_mean(name.text, self.by_name)
            _fail("PL101", f"`{name.text}` is not a buffer", name.span, known)
        return self.by_name[name.text]


def _shape(node: syntax.Buffer, scope: Scope, where: str) -> tuple[int, ...]:
    sizes = []
    elements = 1
    for axis in node.shape or ():
        size = whole(axis, scope)
        elements *= max(size, 1)
        if size < 1 or elements > MOST_ELEMENTS:
            message = f"an axis of `{node.name.text}` is {size}{where}"
            help = f"sizes are 1 or more, and a buffer has at most {MOST_ELEMENTS:,} elements"
            _fail("PL601", message, axis.span, help)
        sizes.append(size)
    return tuple(sizes)


def _with(buffer: Buffer, attribute: syntax.Attribute) -> Buffer:
    """The buffer with one attribute more."""
    name, number, place = attribute.name.text, attribute.number, attribute.place
    if place is not None:
        if place.text not in PLACES:
            known = did_you_mean(place.text, PLACES)
            _fail("PL107", f"a buffer lies on {' or '.join(PLACES)} memory", place.span, known)
        return replace(buffer, place=place.text)
    if name not in ATTRIBUTES:
        known = did_you_mean(name, ATTRIBUTES)
        _fail("PL107", f"`{name}` is not an attribute of a buffer", attribute.span, known)
    if (name == "copies") != (number is not None):
        help = "write `copies 2`" if name == "copies" else f"write `{name}`"
        _fail("PL107", f"`{attribute.span.text}` is not an attribute", attribute.span, help)
    if name == "copies":
        assert number is not None
        if not 1 <= number <= MOST_COPIES:
            message = f"a buffer has 1 to {MOST_COPIES} copies, not {number}"
            _fail("PL107", message, attribute.span)
        return replace(buffer, copies=number)
    return replace(buffer, **{name: True})


def _once(name: syntax.Name, declared: dict[str, Span]) -> None:
    if name.text in declared or name.text == "host":
        labels = ()
        if name.text in declared:
            labels = (Label(declared[name.text], "declared here first"),)
        message = f"`{name.text}` is declared twice" if labels else "`host` is built in"
        raise SpecError([Diagnostic("PL104", message, name.span, labels=labels)])
    declared[name.text] = name.span


def _silent_if_declared(name: syntax.Name, declared: dict[str, Span]) -> None:
    """A declaration that was itself wrong has been reported; its name is not reported again."""
    if name.text in declared:
        raise Silenced


def _fail(code: str, message: str, span: Span, help: str = "") -> NoReturn:
    raise SpecError([Diagnostic(code, message, span, help=help)])
