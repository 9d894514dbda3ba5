"""What a rank exchanges with others in a round: the sequence of every communicator.

A group has two: one for its collectives on the device, and one for those of the host and its votes.
Groups that are known to have one rank have none: nobody waits there.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from plait.compiler.ranks.groups import alone
from plait.compiler.round import HOST, Axis, Phase, Round, Vote
from plait.dsl.record import Record, uncompared
from plait.dsl.span import Span

Communicator: TypeAlias = tuple[int, bool]
"""A group, and whether it is the one of its hosts."""
SHAPED = frozenset({"all_gather", "all_reduce", "broadcast", "reduce_scatter"})
"""Collectives in which every rank has the same shape."""


class Exchange(Record):
    """One collective or vote of a rank. Those of two ranks match where they are equal."""

    kind: str
    item: str
    place: int = uncompared()
    """In the items of its round."""
    span: Span = uncompared()
    graph: str | None = uncompared()
    """The capture that it is part of."""
    skipped: bool = uncompared()
    """Whether an idle rank leaves it out."""
    captured: bool
    dtypes: tuple[str, ...] = ()
    shapes: tuple[tuple[tuple[int, ...] | None, tuple[Axis, ...] | None], ...] = ()
    """Of what it writes, with the regions, where its kind needs them equal."""
    rows: int | None = None
    capacity: int | None = None

    @property
    def text(self) -> str:
        """What it is and whether a graph holds it, in the words of messages."""
        if self.kind == "vote":
            return f"vote on {self.item}"
        return f"{self.kind} of {self.item}, {f'graph {self.graph}' if self.graph else 'eager'}"

    @property
    def sizes(self) -> str:
        """The sizes that have to be equal, in the words of messages."""
        shown = [_shape_text(shape) for shape, _ in self.shapes if shape is not None]
        if self.rows is not None:
            shown.append(f"{self.rows} rows")
        if self.capacity is not None:
            shown.append(f"capacity {self.capacity}")
        return ", ".join(dict.fromkeys(shown))


def exchanges(round: Round) -> Iterator[tuple[Communicator, Exchange]]:
    """All of them in the order of issue, each with its communicator."""
    groups = round.groups
    for place, item in enumerate(round.items):
        if isinstance(item, Phase):
            if item.collective is not None and not alone(groups, item.collective.group):
                found = _of_phase(round, place, item)
                yield (item.collective.group, item.stream == HOST), found
        elif isinstance(item, Vote) and item.group is not None and not alone(groups, item.group):
            names = ", ".join(item.names)
            yield (item.group, True), Exchange("vote", names, place, item.span, None, False, False)


def sequence(round: Round, communicator: Communicator, idle: bool) -> list[Exchange]:
    """That of one communicator, for a rank that is busy or idle."""
    return [
        one for of, one in exchanges(round) if of == communicator and not (idle and one.skipped)
    ]


def communicator_name(round: Round, communicator: Communicator) -> str:
    group, host = communicator
    return round.groups[group].name + (" on the host" if host else "")


def _of_phase(round: Round, place: int, phase: Phase) -> Exchange:
    collective = phase.collective
    assert collective is not None
    sent = [a for a in phase.accesses if a.writes] or phase.accesses
    buffers = [round.buffers[access.buffer] for access in sent]
    shaped = collective.kind in SHAPED
    return Exchange(
        collective.kind,
        phase.name,
        place,
        collective.span,
        None if phase.capture is None else round.captures[phase.capture].name,
        "skip_idle" in phase.attributes,
        phase.capture is not None,
        tuple(buffer.dtype for buffer in buffers),
        tuple((b.shape, a.region) for a, b in zip(sent, buffers, strict=True)) if shaped else (),
        phase.rows if shaped else None,
        collective.capacity,
    )


def _shape_text(shape: tuple[int, ...]) -> str:
    return f"[{', '.join(map(str, shape))}]"
