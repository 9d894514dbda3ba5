"""One order of all low-latency exchanges of a group, where the device leaves that to who issues them.

On a target whose hooks are hollow an operation in flight runs whole, at once, on a stream of its own, so
two of them would flip the state of one window beside each other. Before it is lowered, a round gets a
wait wherever two that follow each other have no order yet, across rounds and routes too. It gets nothing
that the rules would judge: what they prove holds with more waits.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import pairwise

from plait.compiler.order import Order, order
from plait.compiler.round import Edge, Item, Phase, Round, Source
from plait.compiler.target import Target


def in_one_order(orders: list[Order], target: Target) -> list[Order]:
    """The same rounds with the waits that a target needs besides."""
    exchange = target.exchange
    if exchange is None or exchange.hooks or not exchange.one_order:
        return orders
    if not any(phase.launched for found in orders for phase in found.round.phases):
        return orders  # the rules see to the rest
    mixed = len({found.round.structure for found in orders}) > 1
    lasts = {
        (group, found.round.outside(last), found.round.stream_name(_stream(found.round, last))): (
            found.round,
            last,
        )
        for found in orders
        for group, phases in _exchanges(found.round).items()
        for last in phases[-1:]
    }
    return [_ordered(found, lasts if mixed else {}) for found in orders]


_Lasts = dict[tuple[str, str, str], tuple[Round, Phase]]
"""The last exchange of a group on every route, by the group, and its own name and stream."""


def _exchanges(round: Round) -> dict[str, list[Phase]]:
    """Of each group its low-latency exchanges, as they are issued."""
    found: dict[str, list[Phase]] = {}
    for phase in round.phases:
        if phase.collective is not None and phase.collective.kind == "low_latency":
            found.setdefault(round.groups[phase.collective.group].name, []).append(phase)
    return found


def _stream(round: Round, phase: Phase) -> int:
    return phase.stream if phase.capture is None else round.captures[phase.capture].stream


def _ordered(found: Order, lasts: _Lasts) -> Order:
    round, last = found.round, found.rounds - 1
    asked: dict[int, list[Edge]] = {}
    """New edges by the item that they stand before."""
    streams = list(round.streams)
    count = 1 + max((edge.number for edge in round.edges), default=-1)

    def ask(source: Source, phase: Phase, within: int | None) -> None:
        nonlocal count
        inside = phase.capture is not None and phase.capture == within
        place = round.places["phase", phase.number]
        if phase.capture is not None and not inside:
            place = round.places["loaded", phase.capture]
        target = phase.stream if inside else _stream(round, phase)
        span = phase.collective.span if phase.collective else phase.span
        edge = Edge(count, "join", source, target, span, within if inside else None)
        asked.setdefault(place, []).append(edge)
        count += 1

    for group, phases in _exchanges(round).items():
        for one, other in _following(phases, wraps=not lasts):
            back = int(one.number >= other.number)
            if not _after(found, one, last - back, other, last):
                ask(_source(round, one, other, back), other, other.capture)
        for (of, name, stream), (route, end) in lasts.items():
            first = phases[0]
            same = stream == round.stream_name(_stream(round, first))
            if of != group or (same and not end.launched):
                continue
            known = next((p for p in phases if round.outside(p) == name), None)
            if known is not None:
                source = _source(round, known, None, 1)
            else:
                names = [one.name for one in streams]
                if stream not in names:
                    streams.append(route.streams[_stream(route, end)])
                    names.append(stream)
                source = Source("elsewhere", names.index(stream), 1, name)
            ask(source, first, None)
    if not asked:
        return found
    items = tuple(_with(round.items, asked))
    return order(replace(round, items=items, streams=tuple(streams)))


def _following(phases: list[Phase], wraps: bool) -> Iterator[tuple[Phase, Phase]]:
    yield from pairwise(phases)
    if wraps:
        yield phases[-1], phases[0]


def _after(found: Order, one: Phase, ago: int, other: Phase, now: int) -> bool:
    """Whether one has surely ended when the other begins."""
    places = found.round.places
    own = one.capture == other.capture and ago == now
    end, start = places["phase", one.number], places["phase", other.number]
    if one.capture is not None and not own:
        end = places["capture", one.capture]
    if other.capture is not None and not own:
        start = places["loaded", other.capture]
    return found.at(now, start).after(found.at(ago, end))


def _source(round: Round, one: Phase, other: Phase | None, back: int) -> Source:
    own = other is not None and one.capture == other.capture and not back
    if one.capture is None or own:
        return Source("phase", one.number, back)
    return Source("capture", one.capture, back)


def _with(items: Iterable[Item], asked: dict[int, list[Edge]]) -> Iterator[Item]:
    for place, item in enumerate(items):
        yield from asked.get(place, ())
        yield item
