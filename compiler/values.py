"""The values of buffers over some rounds: each begins with a write and lives until its last read.

Values form an order: one is before another if its last use surely ended before the other's write began.
Some of them can be alive at once just when no two are ordered: a run in which everything before their
writes is over, and nothing else, may begin them all.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice

from plait.compiler.order import Moment, Order
from plait.compiler.round import Access, Phase
from plait.dsl.record import Record

MOST = 64
"""Values looked at beside one that is written: more are not alive in a round that makes sense."""


class Use(Record):
    """One access of a value."""

    phase: Phase
    access: Access
    moment: Moment
    place: int
    """Among all items, in issue order over the rounds."""


@dataclass(eq=False, slots=True)
class Value:
    slot: tuple[int, int]
    """What holds it, and which copy of that."""
    round: int
    uses: list[Use]
    """The first is the write that begins it."""
    read: bool = False

    def over(self, other: Value) -> bool:
        """Whether it surely is when the other is written."""
        return self.late(other) is None

    def late(self, other: Value) -> Use | None:
        """A use that may still run when the other is written: the last one."""
        begin = other.uses[0].moment
        return next((use for use in reversed(self.uses) if not begin.after(use.moment)), None)


def values(order: Order, holders: Mapping[int, int]) -> list[Value]:
    """Every value of those buffers, in the order of their writes. `holders`: what holds each buffer's."""
    round = order.round
    found: list[Value] = []
    newest: dict[tuple[int, int], Value] = {}
    for number in range(order.rounds):
        for item in round.items:
            if not isinstance(item, Phase):
                continue
            accesses = [access for access in item.accesses if access.buffer in holders]
            for access in sorted(accesses, key=lambda one: one.writes):  # it reads before it writes
                place = round.places["phase", item.number]
                at = number * len(round.items) + place
                use = Use(item, access, order.at(number, place), at)
                turn = (number - access.rounds_back) % round.buffers[access.buffer].copies
                slot = holders[access.buffer], turn
                value = newest.get(slot)
                begins = not access.reads and (
                    value is None or value.round != number or (value.read and not _same(value, use))
                )
                if begins or (value is None and access.writes):
                    newest[slot] = value = Value(slot, number, [use])
                    found.append(value)
                elif value is not None:
                    value.uses.append(use)
                    value.read |= access.reads
    return found


def _same(value: Value, use: Use) -> bool:
    """Whether the phase that began it writes more of it."""
    return value.uses[0].phase is use.phase


def too_many(found: list[Value], most: int) -> tuple[Value, list[Value]] | None:
    """The first write of a value while so many others may be alive, with those; None if there is none."""
    uses = [(use.place, n, use) for n, value in enumerate(found) for use in value.uses]
    awaited: dict[int, Value] = {}
    """Those begun with a use still to be issued."""
    behind: dict[int, list[tuple[int, int]]] = {}
    """Of each coordinate, what ends there in that order: its index, and the value."""
    for _, number, use in sorted(uses, key=lambda one: one[:2]):
        value = found[number]
        if use is value.uses[0]:
            beside = awaited | {n: found[n] for n in _running(behind, use.moment)}
            others = [beside[n] for n in sorted(beside)[-MOST:]]
            alive = _together([one for one in others if one.slot != value.slot], most)
            if alive:
                return value, alive
            awaited[number] = value
        behind.setdefault(use.moment.coordinate, []).append((use.moment.index, number))
        if use is value.uses[-1]:
            del awaited[number]
    return None


def _running(behind: dict[int, list[tuple[int, int]]], begin: Moment) -> Iterator[int]:
    """Values with a use that may not have ended then, of each coordinate the newest."""
    for coordinate, ends in behind.items():
        for index, number in islice(reversed(ends), MOST):
            if index <= begin.known[coordinate]:
                break
            yield number


def _together(candidates: list[Value], count: int) -> list[Value]:
    """So many of them, of which no two are ordered; empty if there are not."""
    if len(candidates) < count or _width(candidates) < count:
        return []
    # What can be spared goes, the newest first; no two of those left are then ordered.
    for one in reversed(list(candidates)):
        left = [other for other in candidates if other is not one]
        if len(left) >= count and _width(left) >= count:
            candidates = left
    return candidates


def _width(candidates: list[Value]) -> int:
    """The most of them of which no two are ordered: all, less the most that can follow another in chains."""
    after = [
        [n for n, later in enumerate(candidates) if n > place and value.over(later)]
        for place, value in enumerate(candidates)
    ]
    follows: dict[int, int] = {}
    """Of each, what it comes right after in its chain."""

    def placed(number: int, tried: set[int]) -> bool:
        for later in after[number]:
            if later not in tried:
                tried.add(later)
                if later not in follows or placed(follows[later], tried):
                    follows[later] = number
                    return True
        return False

    return len(candidates) - sum(placed(number, set()) for number in range(len(candidates)))
