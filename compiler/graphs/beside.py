"""What of one round runs at the same time, and how long the longest way through it is."""

from __future__ import annotations

from collections.abc import Iterator

from plait.compiler.order import Moment, Order
from plait.compiler.round import Phase

MOST_PAIRED = 400
"""Phases of a round up to which pairs of them are looked at."""


def launches(order: Order) -> int:
    """What the host issues in a round: eager device phases and graphs."""
    eager = [phase for phase in order.round.phases if phase.capture is None and phase.stream]
    return len(eager) + len(order.round.captures)


def beside(order: Order) -> set[tuple[str, str]]:
    """Phases of one round that may run at the same time."""
    found: set[tuple[str, str]] = set()
    for phase, other in _pairs(order):
        (begin, end), (start, stop) = _ends(order, phase, other), _ends(order, other, phase)
        if not start.after(end) and not begin.after(stop):
            found.add((phase.name, other.name))
    return found


def longest(order: Order) -> int | None:
    """The declared costs on the longest way through one round, in nanoseconds; None: it has none."""
    phases = order.round.phases
    own = [phase.cost.amount if phase.cost else 0 for phase in phases]
    if len(phases) > MOST_PAIRED or not any(own):
        return None
    ended = list(own)
    for phase, other in _pairs(order):
        if _ends(order, other, phase)[0].after(_ends(order, phase, other)[1]):
            way = ended[phase.number] + own[other.number]
            ended[other.number] = max(ended[other.number], way)
    return max(ended)


def _pairs(order: Order) -> Iterator[tuple[Phase, Phase]]:
    """Any two phases, the one that is issued first standing first; none of a very large round."""
    phases = order.round.phases
    for number, other in enumerate(phases if len(phases) <= MOST_PAIRED else ()):
        for phase in phases[:number]:
            yield phase, other


def _ends(order: Order, phase: Phase, other: Phase) -> tuple[Moment, Moment]:
    """What a phase begins and ends with, as the other sees it."""
    round, last = order.round, order.rounds - 1
    if phase.capture is None or phase.capture == other.capture:
        own = order.at(last, round.places["phase", phase.number])
        return own, own
    places = round.places["loaded", phase.capture], round.places["capture", phase.capture]
    return order.at(last, places[0]), order.at(last, places[1])
