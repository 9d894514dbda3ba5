"""Memory that phases share without naming it: two that use it and have no order spoil it like a buffer.

- the communicator of a group, with its exchange window: every collective of a stream over it changes it
- the memory of graphs that share a pool, or of a graph without one: each replay overwrites all of it, and
  whoever reads what a graph left there reads it. What a replay takes in is copied before it overwrites

They are numbered behind the buffers, and an access of one is like an access of a buffer.
"""

from __future__ import annotations

from typing import Literal

from plait.compiler.round import Access, Capture, Kind, Round
from plait.dsl.record import Record
from plait.dsl.span import Span


class Hidden(Record):
    kind: Literal["communicator", "graphs"]
    number: int
    """As that of a buffer."""
    words: str
    """What it is, in messages."""

    def access(self, kind: Kind, span: Span, kept: str = "") -> Access:
        """Of what is kept in it, where it is that which is read."""
        return Access(self.number, kind, kept, span)


def communicator(round: Round, group: int) -> Hidden:
    name = round.groups[group].name
    return Hidden("communicator", len(round.buffers) + group, f"the communicator of `{name}`")


def memory_of(round: Round, capture: Capture) -> Hidden:
    """Where a graph keeps what is neither static nor carried."""
    if capture.pool is not None:
        return pool(round, capture.pool)
    number = len(round.buffers) + len(round.groups) + len(round.pools) + capture.number
    return Hidden("graphs", number, f"the memory of `{capture.name}`")


def pool(round: Round, number: int) -> Hidden:
    name = round.pools[number].name
    return Hidden("graphs", len(round.buffers) + len(round.groups) + number, f"the pool `{name}`")


class Left(Record):
    """Where graphs leave a buffer that they write."""

    by_capture: dict[int, Hidden]
    memories: tuple[Hidden, ...]
    """The same, each once."""


def left_by_graphs(round: Round, static: dict[int, set[int]]) -> dict[int, Left]:
    """Buffers that graphs write into memory of theirs.

    `static` says of each capture which buffers are baked into it.
    """
    found: dict[int, dict[int, Hidden]] = {}
    for phase in round.phases:
        if phase.capture is None:
            continue
        for access in phase.accesses:
            number, buffer = access.buffer, round.buffers[access.buffer]
            apart = buffer.carried or buffer.scratch or buffer.place != "device"
            if not access.writes or apart or number in static[phase.capture]:
                continue
            if buffer.pool is None:
                memory = memory_of(round, round.captures[phase.capture])
            elif round.pools[buffer.pool].size is None:
                memory = pool(round, buffer.pool)
            else:
                continue
            found.setdefault(number, {})[phase.capture] = memory
    return {
        number: Left(by_capture, tuple({one.number: one for one in by_capture.values()}.values()))
        for number, by_capture in found.items()
    }
