"""What does not fit, by counting: rows in an exchange, values in a pool, uses of what is in flight.

This judges rules, so it shares none of their algorithms: values are taken in every group of one more
than there is room for, and fail to fit where any two of them may be alive at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

from plait.compiler.mutate.needed import begins, may_meet
from plait.compiler.round import Edge, Phase, Round
from plait.dsl.record import Record

MOST_VALUES = 12
"""Of a pool, over all rounds that are looked at."""


class Unfit(Record):
    what: str
    most: int

    def __str__(self) -> str:
        return f"{self.what}, and there is room for {self.most}" if self.most else self.what


def unfit(routes: Sequence[Round]) -> Iterator[Unfit]:
    for round in routes:
        yield from _rows(round)
        yield from _early(round)
        yield from _values(round)


def _rows(round: Round) -> Iterator[Unfit]:
    for phase in round.phases:
        made = phase.collective
        if made is not None and made.capacity is not None and (phase.rows or 0) > made.capacity:
            yield Unfit(f"`{phase.name}` exchanges {phase.rows} rows", made.capacity)


def _early(round: Round) -> Iterator[Unfit]:
    """Phases that touch what a launch writes, between it and its await."""
    flying: dict[int, Phase] = {}
    for item in round.items:
        if isinstance(item, Edge) and item.word == "await":
            flying.pop(item.source.number, None)
        elif isinstance(item, Phase):
            for launch in flying.values():
                for one in launch.accesses:
                    for other in item.accesses:
                        copies = round.buffers[one.buffer].copies
                        same = one.buffer == other.buffer
                        slot = (one.rounds_back - other.rounds_back) % copies == 0
                        if one.writes and same and slot and may_meet(round, one, other):
                            yield Unfit(f"`{item.name}` comes before `{launch.name}` is awaited", 0)
            if item.launched:
                flying[item.number] = item


def _values(round: Round) -> Iterator[Unfit]:
    for number, pool in enumerate(round.pools):
        if pool.size is None:
            continue
        kept = [n for n, buffer in enumerate(round.buffers) if buffer.pool == number]
        alive = _alive(round, kept, pool.size + 2)
        for some in combinations(alive, pool.size + 1):
            if all(_together(one, other) for one, other in combinations(some, 2)):
                yield Unfit(
                    f"{pool.size + 1} values may be alive in the pool `{pool.name}`", pool.size
                )
                break


class _Value(Record):
    begin: int
    """What is over when it is first written."""
    uses: int
    """The bits of all that touches it."""


def _alive(round: Round, kept: list[int], rounds: int) -> list[_Value]:
    """The values of so many rounds, each from its first write to its last use; the first warm the rest up."""
    found: dict[tuple[int, int], _Value] = {}
    for made, place, past, bit in begins(round, rounds):
        item = round.items[place]
        for access in item.accesses if isinstance(item, Phase) else ():
            key = access.buffer, made - access.rounds_back
            if access.buffer not in kept:
                continue
            if key in found:
                found[key] = found[key].replace(uses=found[key].uses | bit)
            elif access.writes:
                found[key] = _Value(past, bit)
    return list(found.values())[-MOST_VALUES:]


def _together(one: _Value, other: _Value) -> bool:
    """Whether neither is surely over when the other begins."""
    return bool(one.uses & ~other.begin and other.uses & ~one.begin)
