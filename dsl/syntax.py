"""The syntax of a spec file: one frozen node a construct, each with its span.

Two nodes are equal when they say the same; where they stand does not count.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from plait.dsl.record import Record, uncompared
from plait.dsl.span import Span


class Node(Record):
    span: Span = uncompared()


class Name(Node):
    text: str


# Expressions


class Number(Node):
    value: int | float


class Quantity(Node):
    """A time or a size with its unit: `35us`, `4MiB`."""

    value: int | float
    unit: str


class Text(Node):
    value: str


class Truth(Node):
    value: bool


class Reference(Node):
    name: Name


class Function(Node):
    name: Name
    arguments: tuple[Expression, ...]


class Item(Node):
    name: Name
    index: Expression


class Sequence(Node):
    items: tuple[Expression, ...]


class Unary(Node):
    operator: str
    operand: Expression


class Binary(Node):
    operator: str
    left: Expression
    right: Expression


Expression: TypeAlias = (
    Number | Quantity | Text | Truth | Reference | Function | Item | Sequence | Unary | Binary
)


# Declarations


class Param(Node):
    """With `choices` a value is picked before each round; without, once, before it is compiled."""

    name: Name
    value: Expression
    choices: Expression | None = None


class Flag(Node):
    """A setting whose default comes from the environment: `env("NAME", default)`."""

    name: Name
    value: Expression


class Require(Node):
    condition: Expression
    reason: Text | None


class Agreement(Node):
    """`over GROUP`: the ranks vote. `same over GROUP`: they are equal by construction."""

    group: Name
    same: bool = False


class Dim(Node):
    name: Name
    sizes: Expression
    agreement: Agreement | None = None


class Guard(Node):
    """A truth that bound code gives once a round, at this line; `otherwise` where `condition` is false."""

    name: Name
    agreement: Agreement | None = None
    condition: Expression | None = None
    otherwise: Expression | None = None


class Group(Node):
    """Ranks that communicate: their number and the group that contains them, where known."""

    name: Name
    size: Expression | None = None
    inside: Name | None = None


class Pool(Node):
    """Named memory, with the most values alive in it at once; None: a pool of graphs."""

    name: Name
    size: Expression | None = None


class Stream(Node):
    """`alias` is set when the name is another one for a stream; with `condition`, only when it is
    false (`own_if_true`) or with `otherwise` in its place."""

    name: Name
    kind: Name | None = None
    alias: Name | None = None
    condition: Expression | None = None
    otherwise: Name | None = None


class Attribute(Node):
    """`carried`, `copies 2`, `on host`, `in pool`: a word, and what stands behind it."""

    name: Name
    number: int | float | None = None
    place: Name | None = None


class Buffer(Node):
    name: Name
    dtype: Name
    shape: tuple[Expression, ...] | None
    attributes: tuple[Attribute, ...]


# The round


class Label(Node):
    name: Name
    index: Expression | None = None


class Whole(Node):
    """`_`: the whole axis."""


class Range(Node):
    """`a .. b`, both ends included."""

    first: Expression
    last: Expression


Axis: TypeAlias = Whole | Range | Expression


class Access(Node):
    buffer: Name
    rounds_back: int = 0
    region: tuple[Axis, ...] | None = None
    argument: Name | None = None
    within: tuple[Label, ...] = ()
    """The calls whose buffer it is, outermost first: `layers[3]` of `layers[3].topk`."""


class Accesses(Node):
    kind: Literal["reads", "updates", "writes"]
    items: tuple[Access, ...]


class Rows(Node):
    count: Expression


class Collective(Node):
    kind: Name
    group: Name
    capacity: Expression | None = None


class Cost(Node):
    amount: Expression


class ClauseWhen(Node):
    condition: Expression
    clauses: tuple[Clause, ...]


Clause: TypeAlias = Accesses | Rows | Collective | Cost | ClauseWhen


class Phase(Node):
    """A phase, or with `launched` the first half of a split operation, which an `await` ends."""

    label: Label
    stream: Name
    attributes: tuple[Name, ...]
    clauses: tuple[Clause, ...]
    launched: bool = False


class Point(Node):
    """What an edge starts from: a stream, a phase, a launch, a call, a capture or its `loaded`.

    `path` has one label for each name between dots: `layers[3].attention`, `verify.loaded`.
    """

    path: tuple[Label, ...]
    rounds_back: int = 0


class Fork(Node):
    stream: Name
    point: Point


class Join(Node):
    point: Point
    into: Name


class Await(Node):
    point: Point
    stream: Name


class Capture(Node):
    label: Label
    stream: Name
    rows: Expression
    condition: Expression | None
    body: tuple[Statement, ...]
    pool: Name | None = None


class Actual(Node):
    """What a call gives to one formal of its module."""

    name: Name
    value: Expression


class Call(Node):
    module: tuple[Name, ...]
    """`target`, or `models.target` of a file that is used as `models`."""
    actuals: tuple[Actual, ...]
    label: Label | None = None


class Interleave(Node):
    """Two calls, cut into stages at each `yield`; the second runs `behind` stages after the first."""

    behind: Expression
    first: Call
    second: Call


class Yield(Node):
    """The end of a stage of a module whose calls are interleaved."""


class Assume(Node):
    """Accesses that the author vouches never meet in memory, and why."""

    accesses: tuple[Access, ...]
    reason: Text


class For(Node):
    name: Name
    first: Expression
    last: Expression
    body: tuple[Statement, ...]


class When(Node):
    condition: Expression
    body: tuple[Statement, ...]
    otherwise: tuple[Statement, ...] = ()


Statement: TypeAlias = (
    Param
    | Flag
    | Require
    | Dim
    | Guard
    | Group
    | Pool
    | Stream
    | Buffer
    | Assume
    | Phase
    | Await
    | Fork
    | Join
    | Capture
    | Call
    | Interleave
    | Yield
    | For
    | When
)


class Pipeline(Node):
    name: Name
    body: tuple[Statement, ...]


class Formal(Node):
    """What a module is given: a stream, a buffer, or a value, which may have a default."""

    kind: Literal["stream", "buffer", "value"]
    name: Name
    default: Expression | None = None


class Module(Node):
    name: Name
    formals: tuple[Formal, ...]
    body: tuple[Statement, ...]


class Use(Node):
    """Another file's modules: a file below this one (`path`), or one of the standard library."""

    source: Text | Name
    alias: Name | None = None


class Setting(Node):
    name: Name
    value: Expression


class Variant(Node):
    name: Name
    of: Name
    settings: tuple[Setting, ...]


class File(Node):
    version: int
    pipelines: tuple[Pipeline, ...]
    variants: tuple[Variant, ...]
    uses: tuple[Use, ...] = ()
    modules: tuple[Module, ...] = ()
