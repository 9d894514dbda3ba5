"""Buffers that are never in use at the same time share memory: one block, and an offset for each.

Two may share bytes when every access of one is before every access of the other, by happens-before: in
the same round of every route that has both, and from every round to the next, whatever the routes. As no
edge leads to an earlier round, that then holds for rounds further apart. Memory that
others write meanwhile is not looked at: a buffer that lives on is left out, and so is one that no phase
reads, as someone outside must.

The plan is made for the largest sizes, so that a smaller bucket uses a part of every place. Buffers are
placed the largest first, each in the smallest gap that holds it.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Container, Iterable, Mapping
from dataclasses import replace
from itertools import groupby
from operator import attrgetter
from typing import TypeAlias

from plait.compiler.arena.lives import Life, lives
from plait.compiler.order import Order
from plait.compiler.round import Buffer
from plait.compiler.summary import coordinates_of, summary
from plait.dsl.record import Record
from plait.runtime.schedule import Schedule, room

Lives: TypeAlias = "tuple[Life | None, ...]"
"""Of one buffer, its life on every route that has an order of its own."""


class Arena(Record):
    offsets: dict[str, int]
    """Of every buffer that shares memory, where it begins in the block: bytes."""
    sizes: dict[str, int]
    """Of the same, how many bytes."""
    size: int
    """Bytes of the block."""
    apart: int
    """Bytes of all that could share, if none did."""
    together: int
    """Bytes of the same with the block."""
    least: int
    """Bytes that no plan can do without: of buffers of which no two may share."""


def arena(orders: list[Order]) -> Arena:
    """The plan for a proven round, given its order on every route."""
    sizes = _sizes(orders)
    routes = list({order.round.structure: order for order in orders}.values())
    alive = _lives(routes, sizes)
    apart = sum(sizes.values())
    sharing = sizes
    while (
        True
    ):  # what shares with nobody has memory of its own, and leaves the others closer together
        offsets, size, shared = _packed(sharing, alive)
        if len(shared) == len(sharing):
            break
        sharing = {name: sizes[name] for name in sharing if name in shared}
    together = apart - sum(sharing.values()) + size
    return Arena(offsets, sharing, size, apart, together, _least(sizes, alive))


def _lives(routes: list[Order], names: Container[str]) -> dict[str, Lives]:
    if len(routes) == 1:
        return {name: (life,) for name, life in lives(routes[0], names).items()}
    coordinates = coordinates_of(order.round for order in routes)
    found = [lives(order, names, summary(order.round, coordinates)) for order in routes]
    every = dict.fromkeys(name for one in found for name in one)
    return {name: tuple(one.get(name) for one in found) for name in every}


def _sizes(orders: Iterable[Order]) -> dict[str, int]:
    """Bytes at its largest of every buffer that may share memory."""
    kinds: dict[str, tuple[str, tuple[int, ...]] | None] = {}
    read: set[str] = set()
    for round in (order.round for order in orders):
        kept = {a.buffer for phase in round.phases for a in phase.accesses if a.rounds_back}
        read |= {round.buffers[a.buffer].name for p in round.phases for a in p.accesses if a.reads}
        for number, buffer in enumerate(round.buffers):
            kind = None if number in kept else _kind(buffer)
            known = kinds.setdefault(buffer.name, kind)
            if known is None or kind is None or known[0] != kind[0]:
                kinds[buffer.name] = None
            else:
                kinds[buffer.name] = kind[0], tuple(map(max, known[1], kind[1]))
    return {name: room(*kind) for name, kind in kinds.items() if kind is not None and name in read}


def _kind(buffer: Buffer) -> tuple[str, tuple[int, ...]] | None:
    """Type and shape of a buffer whose value and place are a round's own affair."""
    lasting = buffer.carried or buffer.static or buffer.task or buffer.copies > 1
    elsewhere = buffer.place != "device" or buffer.pool is not None
    return None if lasting or elsewhere or not buffer.shape else (buffer.dtype, buffer.shape)


def laid_out(schedule: Schedule, orders: list[Order]) -> Schedule:
    """The schedule with a place for every buffer that shares memory."""
    found = arena(orders)
    buffers = tuple(
        replace(buffer, offset=found.offsets.get(buffer.name)) for buffer in schedule.buffers
    )
    return replace(schedule, buffers=buffers, arena=found.size)


class _Piece:
    """A run of bytes with the buffers that lie in it: of every route, in the order of their lives."""

    __slots__ = ("chains", "end", "start")

    def __init__(self, start: int, end: int, chains: list[list[Life]]):
        self.start = start
        self.end = end
        self.chains = chains

    def takes(self, new: Lives) -> bool:
        """Whether a buffer is in use only while none of those here is."""
        for route, life in enumerate(new):
            if life is None:
                continue
            chain = self.chains[route]
            place = bisect(chain, life.first, key=_FIRST)
            if place and not chain[place - 1].before(life):
                return False
            if place < len(chain) and not life.before(chain[place]):
                return False
            for other in self.chains:
                if other and not (life.before_next(other[0]) and other[-1].before_next(life)):
                    return False
        return True

    def add(self, new: Lives) -> None:
        for chain, life in zip(self.chains, new, strict=True):
            if life is not None:
                chain.insert(bisect(chain, life.first, key=_FIRST), life)

    def split(self, at: int) -> _Piece:
        """Cut in two: this keeps what lies before, the other is what lies behind."""
        rest = _Piece(at, self.end, [list(chain) for chain in self.chains])
        self.end = at
        return rest


_FIRST = attrgetter("first")


def _packed(
    sizes: Mapping[str, int], alive: Mapping[str, Lives]
) -> tuple[dict[str, int], int, set[str]]:
    """The offset of every buffer, the bytes of all, and which of them share any byte with another."""
    pieces: list[_Piece] = []
    offsets: dict[str, int] = {}
    routes = len(next(iter(alive.values()), ()))
    for name in sorted(sizes, key=lambda name: -sizes[name]):
        first, last = _gap(pieces, sizes[name], alive[name])
        top = pieces[-1].end if pieces else 0
        offsets[name] = pieces[first].start if first < len(pieces) else top
        end = offsets[name] + sizes[name]
        if end > top:
            pieces.append(_Piece(top, end, [[] for _ in range(routes)]))
            last = len(pieces)
        for number in range(first, last):
            piece = pieces[number]
            if piece.end > end:
                pieces.insert(number + 1, piece.split(end))
            piece.add(alive[name])
            if piece.end == end:
                break
    return offsets, pieces[-1].end if pieces else 0, _shared(offsets, sizes)


def _gap(pieces: list[_Piece], size: int, new: Lives) -> tuple[int, int]:
    """The pieces that a buffer is laid over: the smallest gap that holds it, or else what is free on top."""
    best, most = (len(pieces), len(pieces)), None
    start = 0
    for takes, run in groupby(pieces, lambda piece: piece.takes(new)):
        gap = list(run)
        first, start = start, start + len(gap)
        length = gap[-1].end - gap[0].start
        if takes and length >= size and (most is None or length < most):
            best, most = (first, start), length
        elif takes and most is None and start == len(pieces):
            best = first, start
    return best


def _shared(offsets: Mapping[str, int], sizes: Mapping[str, int]) -> set[str]:
    """Those that have a byte in common with another."""
    found: set[str] = set()
    end, widest = 0, ""
    for name in sorted(offsets, key=lambda name: offsets[name]):
        if offsets[name] < end:
            found |= {name, widest}
        if offsets[name] + sizes[name] > end:
            end, widest = offsets[name] + sizes[name], name
    return found


def _least(sizes: Mapping[str, int], alive: Mapping[str, Lives]) -> int:
    """The most bytes of buffers that one item of a route stands between the accesses of.

    Text order is a possible run, so no two of them may share. To those of the fullest item is added
    whatever cannot share with any of them either.
    """
    best, crowd = 0, set[str]()
    routes = range(len(next(iter(alive.values()), ())))
    for route in routes:
        ends: list[tuple[int, int, str]] = []
        for name, life in alive.items():
            if (here := life[route]) is not None:
                ends += [(here.first, 0, name), (here.last, 1, name)]
        held, now = 0, dict[str, None]()
        for _, over, name in sorted(ends):
            if over:
                held -= sizes[name]
                del now[name]
            else:
                held += sizes[name]
                now[name] = None
                if held > best:
                    best, crowd = held, set(now)
    for name in sorted(sizes, key=lambda name: -sizes[name]):
        if name not in crowd and not any(may_share(alive[name], alive[one]) for one in crowd):
            crowd.add(name)
    return sum(sizes[name] for name in crowd)


def may_share(one: Lives, other: Lives) -> bool:
    """Whether two buffers are never in use at the same time."""
    piece = _Piece(0, 0, [[] if life is None else [life] for life in one])
    return piece.takes(other)
