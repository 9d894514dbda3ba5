"""The syntax of a spec file: one frozen node a construct, each with its span.

Two nodes are equal when they say the same; where they stand does not count.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from plait.dsl.record import Record
from plait.dsl.span import Span


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Node(Record):
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Name(Node):
    text: str


# Expressions


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Number(Node):
    value: int | float


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Text(Node):
    value: str


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Truth(Node):
    value: bool


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Reference(Node):
    name: Name


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Function(Node):
    name: Name
    arguments: tuple[Expression, ...]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Item(Node):
    name: Name
    index: Expression


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Sequence(Node):
    items: tuple[Expression, ...]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Unary(Node):
    operator: str
    operand: Expression


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Binary(Node):
    operator: str
    left: Expression
    right: Expression


Expression: TypeAlias = (
    Number | Text | Truth | Reference | Function | Item | Sequence | Unary | Binary
)


# Declarations


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Param(Node):
    name: Name
    value: Expression


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Flag(Node):
    """A setting whose default comes from the environment: `env("NAME", default)`."""

    name: Name
    value: Expression


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Require(Node):
    condition: Expression
    reason: Text | None


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Dim(Node):
    name: Name
    sizes: Expression


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Stream(Node):
    """`alias` is set when the name is another one for a stream; with `condition`, only when it is
    false (`own_if_true`) or with `otherwise` in its place."""

    name: Name
    kind: Name | None = None
    alias: Name | None = None
    condition: Expression | None = None
    otherwise: Name | None = None


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Attribute(Node):
    """`carried`, `copies 2`, `on host`: a word, and what stands behind it."""

    name: Name
    number: int | None = None
    place: Name | None = None


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Buffer(Node):
    name: Name
    dtype: Name
    shape: tuple[Expression, ...] | None
    attributes: tuple[Attribute, ...]


# The round


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Label(Node):
    name: Name
    index: Expression | None = None


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Whole(Node):
    """`_`: the whole axis."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Range(Node):
    """`a .. b`, both ends included."""

    first: Expression
    last: Expression


Axis: TypeAlias = Whole | Range | Expression


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Access(Node):
    buffer: Name
    rounds_back: int = 0
    region: tuple[Axis, ...] | None = None
    argument: Name | None = None


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Accesses(Node):
    kind: Literal["reads", "updates", "writes"]
    items: tuple[Access, ...]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Rows(Node):
    count: Expression


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ClauseWhen(Node):
    condition: Expression
    clauses: tuple[Clause, ...]


Clause: TypeAlias = Accesses | Rows | ClauseWhen


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Phase(Node):
    label: Label
    stream: Name
    attributes: tuple[Name, ...]
    clauses: tuple[Clause, ...]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Point(Node):
    """What an edge starts from: a stream, a phase, a capture, or a capture's `loaded`."""

    label: Label
    rounds_back: int = 0
    member: Name | None = None


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Fork(Node):
    stream: Name
    point: Point


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Join(Node):
    point: Point
    into: Name


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Capture(Node):
    label: Label
    stream: Name
    rows: Expression
    condition: Expression | None
    body: tuple[Statement, ...]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class For(Node):
    name: Name
    first: Expression
    last: Expression
    body: tuple[Statement, ...]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class When(Node):
    condition: Expression
    body: tuple[Statement, ...]
    otherwise: tuple[Statement, ...] = ()


Statement: TypeAlias = (
    Param | Flag | Require | Dim | Stream | Buffer | Phase | Fork | Join | Capture | For | When
)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Pipeline(Node):
    name: Name
    body: tuple[Statement, ...]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Setting(Node):
    name: Name
    value: Expression


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Variant(Node):
    name: Name
    of: Name
    settings: tuple[Setting, ...]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class File(Node):
    version: int
    pipelines: tuple[Pipeline, ...]
    variants: tuple[Variant, ...]
