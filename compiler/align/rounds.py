"""Which round each piece is of: as the trace says, else by the order in which the host issued it.

What is issued goes through the nodes of a round from the first to the last, so a node that lies before
the newest one begins another round. Where nothing says when pieces were issued, each lane is walked by
itself, and its rounds are told from those of the busiest lane by what has to come before what.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping, Sequence

from plait.compiler.align.declared import Declared
from plait.compiler.align.names import Said
from plait.compiler.align.pieces import Piece

SLACK = 5_000
"""Nanoseconds by which clocks of two lanes may seem to disagree."""


class NoRounds(Exception):
    """Nothing in a trace tells one round from the next."""


def numbered(
    declared: Declared, pieces: Sequence[Piece], said: Sequence[Said], windows: Sequence[int]
) -> list[int]:
    """Of each piece its round; -1 where nothing is known. Raises NoRounds."""
    named = [n for n, one in enumerate(said) if one.nodes]
    told = sum(said[n].round >= 0 for n in named)
    if named and 2 * told > len(named):
        rounds = [one.round for one in said]
    else:
        sure = [n for n in named if said[n].strength == "A"]
        rounds = [-1] * len(pieces)
        walked = sure if len(sure) * 4 > len(named) else named
        units = [windows[n] if windows[n] >= 0 else -2 - piece.replay for n, piece in enumerate(pieces)]
        if len({said[n].nodes for n in walked}) == 1 and all(units[n] == -1 for n in walked):
            raise NoRounds
        if all(pieces[n].issued >= 0 for n in walked):
            order = sorted(walked, key=lambda n: (pieces[n].issued, pieces[n].start))
            _walk(order, pieces, said, units, rounds)
        else:
            _by_lanes(declared, pieces, said, walked, units, rounds)
    _between(pieces, rounds)
    return rounds


def _walk(
    order: Sequence[int],
    pieces: Sequence[Piece],
    said: Sequence[Said],
    units: Sequence[int],
    rounds: list[int],
) -> None:
    """Twice: how often a kernel comes in a round is known by then.

    A window or a replay is of one node in one round; -1 is of kernels that are in neither.
    """
    _through(order, pieces, said, units, rounds, {})
    counts: dict[tuple[str, int], int] = Counter((pieces[n].token, rounds[n]) for n in order)
    usual: dict[str, Counter[int]] = {}
    for (token, _), times in counts.items():
        usual.setdefault(token, Counter())[times] += 1
    most = {
        token: max(times, key=lambda one: (times[one], -one)) for token, times in usual.items()
    }
    _through(order, pieces, said, units, rounds, most)


def _through(
    order: Sequence[int],
    pieces: Sequence[Piece],
    said: Sequence[Said],
    units: Sequence[int],
    rounds: list[int],
    most: Mapping[str, int],
) -> None:
    at, round, unit = -1, 0, -1
    seen: Counter[str] = Counter()
    for number in order:
        nodes, token = said[number].nodes, pieces[number].token
        another = unit != -1 and units[number] not in (-1, unit)
        place = bisect_left(nodes, at)
        if place < len(nodes) and nodes[place] == at and another:
            place += 1
        enough = units[number] == -1 and seen[token] >= most.get(token, len(order))
        if place == len(nodes) or enough:
            round, place = round + 1, 0
            seen.clear()
        seen[token] += 1
        if nodes[place] != at or units[number] != -1:
            unit = units[number]
        at = nodes[place]
        rounds[number] = round


def _between(pieces: Sequence[Piece], rounds: list[int]) -> None:
    """What has no name is of the round of the nearest that has one: as issued, or else on its lane."""
    issued = [n for n, piece in enumerate(pieces) if piece.issued >= 0]
    issued.sort(key=lambda n: (pieces[n].issued, pieces[n].start))
    _nearest(issued, [pieces[n].issued for n in issued], rounds)
    lanes: dict[int, list[int]] = {}
    for number, piece in enumerate(pieces):
        lanes.setdefault(piece.lane, []).append(number)
    for held in lanes.values():
        _nearest(held, [pieces[n].start for n in held], rounds)


def _nearest(order: Sequence[int], times: Sequence[int], rounds: list[int]) -> None:
    named = [place for place, number in enumerate(order) if rounds[number] >= 0]
    if not named:
        return
    after = 0
    for place, number in enumerate(order):
        while after < len(named) and named[after] < place:
            after += 1
        if rounds[number] >= 0:
            continue
        near = named[max(after - 1, 0) : after + 1]
        closest = min(near, key=lambda one: (abs(times[one] - times[place]), one))
        rounds[number] = rounds[order[closest]]


def _by_lanes(
    declared: Declared,
    pieces: Sequence[Piece],
    said: Sequence[Said],
    walked: Sequence[int],
    units: Sequence[int],
    rounds: list[int],
) -> None:
    lanes: dict[int, list[int]] = {}
    for number in walked:
        lanes.setdefault(pieces[number].lane, []).append(number)
    if not lanes:
        return
    kinds = {lane: {said[n].nodes for n in held} for lane, held in lanes.items()}
    first = min(lanes, key=lambda lane: (-len(kinds[lane]), -len(lanes[lane]), lane))
    for lane in sorted(lanes, key=lambda lane: lane != first):
        _walk(lanes[lane], pieces, said, units, rounds)
        if lane != first:
            _settle(declared, pieces, said, lanes[first], lanes[lane], rounds)


def _settle(
    declared: Declared,
    pieces: Sequence[Piece],
    said: Sequence[Said],
    known: Sequence[int],
    own: Sequence[int],
    rounds: list[int],
) -> None:
    """Gives the rounds of a lane the numbers that the orders with the first lane leave for them."""
    starts: dict[tuple[int, int], int] = {}
    ends: dict[tuple[int, int], int] = {}
    for number in known:
        for node in said[number].nodes[:1]:
            key = node, rounds[number]
            starts.setdefault(key, pieces[number].start)
            ends[key] = max(ends.get(key, 0), pieces[number].end)
    groups: dict[int, list[int]] = {}
    for number in own:
        groups.setdefault(rounds[number], []).append(number)
    last = max((rounds[number] for number in known), default=0)
    newest = -1
    for group in groups.values():
        low, high = newest + 1, last
        for number in group:
            node = said[number].nodes[0]
            for order in declared.orders:
                if order.target == node:
                    while (
                        low < high
                        and _ended(ends, order.source, low - order.rounds_back + 1)
                        <= (pieces[number].start + SLACK)
                        and _late(starts, declared, node, low, pieces[number].end)
                    ):
                        low += 1
        newest = low
        for number in group:
            rounds[number] = low


def _ended(ends: dict[tuple[int, int], int], node: int, round: int) -> int:
    return ends.get((node, round), 1 << 62)


def _late(
    starts: dict[tuple[int, int], int], declared: Declared, node: int, round: int, end: int
) -> bool:
    """Whether it ended after something that has to wait for it, were it of that round."""
    return any(
        starts.get((order.target, round + order.rounds_back), 1 << 62) < end - SLACK
        for order in declared.orders
        if order.source == node
    )
