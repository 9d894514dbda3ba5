"""Which round each piece is of: as the trace says, else by the order in which the host issued it.

What is issued goes through the nodes of a round from the first to the last, so a node that lies before
the newest one begins another round. Where nothing says when pieces were issued, each lane is walked by
itself, and its rounds are told from those of the busiest lane by what has to come before what.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from plait.compiler.align.declared import Declared
from plait.compiler.align.names import Said
from plait.compiler.align.pieces import Piece

LOST = 1 << 40
"""From where replays are numbered, downwards, of which nothing is there."""
FARTHEST = 3
"""Rounds over which orders are followed."""
NEAR = 8
"""Kernels of a node that are looked at behind one, for which comes first."""
SLACK = 5_000
"""Nanoseconds by which clocks of two lanes may seem to disagree."""


class NoRounds(Exception):
    """Nothing in a trace tells one round from the next."""


def numbered(
    declared: Declared,
    pieces: Sequence[Piece],
    said: Sequence[Said],
    windows: Sequence[int],
    lost: Sequence[int] = (),
) -> list[int]:
    """Of each piece its round; -1 where nothing is known. Raises NoRounds.

    `lost` are times at which graphs were launched of which nothing is in the trace.
    """
    named = [n for n, one in enumerate(said) if one.nodes]
    told = sum(said[n].round >= 0 for n in named)
    if named and 2 * told > len(named):
        rounds = [one.round for one in said]
    else:
        sure = [n for n in named if said[n].strength == "A"]
        rounds = [-1] * len(pieces)
        walked = sure if len(sure) * 4 > len(named) else named
        units = [
            windows[n] if windows[n] >= 0 else -2 - piece.replay for n, piece in enumerate(pieces)
        ]
        if len({said[n].nodes for n in walked}) == 1 and all(units[n] == -1 for n in walked):
            raise NoRounds
        if all(pieces[n].issued >= 0 for n in walked):
            graphs = [n for n, node in enumerate(declared.nodes) if node.kind == "capture"]
            ghosts = [
                Piece(-1, -1, at, at, at, "", -1, Said(tuple(graphs))) for at in lost if graphs
            ]
            every, units = [*pieces, *ghosts], [*units, *range(-len(ghosts) - LOST, -LOST)]
            walked = [*walked, *range(len(pieces), len(every))]
            order = _as_issued(every, walked)
            words = [*said, *(ghost.said for ghost in ghosts)]
            rounds += [-1] * len(ghosts)
            _walk(order, every, words, units, rounds)
            del rounds[len(pieces) :]
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
    _through(order, pieces, said, units, rounds, {}, {})
    if all(units[number] != -1 for number in order):
        return
    counts: dict[tuple[str, int], int] = Counter((pieces[n].token, rounds[n]) for n in order)
    usual: dict[str, Counter[int]] = {}
    for (token, _), times in counts.items():
        usual.setdefault(token, Counter())[times] += 1
    most = {token: max(times, key=lambda one: (times[one], -one)) for token, times in usual.items()}
    runs: dict[tuple[int, int], list[str]] = {}
    for number in order:
        token = pieces[number].token
        if units[number] == -1 and most[token] == 1:
            runs.setdefault((rounds[number], said[number].nodes[0]), []).append(token)
    before: Counter[tuple[str, str]] = Counter()
    for run in runs.values():
        for place, token in enumerate(run):
            before.update((token, other) for other in run[place + 1 : place + 1 + NEAR])
    _through(order, pieces, said, units, rounds, most, before)


def _through(
    order: Sequence[int],
    pieces: Sequence[Piece],
    said: Sequence[Said],
    units: Sequence[int],
    rounds: list[int],
    most: Mapping[str, int],
    before: Mapping[tuple[str, str], int],
) -> None:
    """`most`: how often a kernel comes in a round; `before`: of two of a node, how often the one is first."""
    at, round, unit, last = -1, 0, -1, ""
    seen: Counter[str] = Counter()
    for number in order:
        nodes, token = said[number].nodes, pieces[number].token
        another = unit != -1 and units[number] not in (-1, unit)
        place = bisect_left(nodes, at)
        if place < len(nodes) and nodes[place] == at and another:
            place += 1
        enough = units[number] == -1 and seen[token] >= most.get(token, len(order))
        if place < len(nodes) and nodes[place] == at and units[number] == -1:
            turned = before.get((token, last), 0) > before.get((last, token), 0)
            enough = enough or turned
        if place == len(nodes) or enough:
            round, place = round + 1, 0
            seen.clear()
        seen[token] += 1
        last = token
        if nodes[place] != at or units[number] != -1:
            unit = units[number]
        at = nodes[place]
        rounds[number] = round


def _as_issued(pieces: Sequence[Piece], numbers: Iterable[int]) -> list[int]:
    keyed = sorted((pieces[n].issued, pieces[n].start, n) for n in numbers)
    return [number for _, _, number in keyed]


def _between(pieces: Sequence[Piece], rounds: list[int]) -> None:
    """What has no name is of the round of the nearest that has one: as issued, or else on its lane."""
    if -1 not in rounds:
        return
    issued = _as_issued(pieces, [n for n, piece in enumerate(pieces) if piece.issued >= 0])
    _nearest(issued, [pieces[n].issued for n in issued], rounds)
    if -1 not in rounds:
        return
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
    _walk(lanes[first], pieces, said, units, rounds)
    known = _Known(declared, pieces, said, lanes.pop(first), rounds)
    for held in lanes.values():
        for number in held:
            rounds[number] = known.round_of(pieces[number], said[number].nodes[0])


class _Known:
    """The rounds of one lane, by which those of another are told."""

    def __init__(
        self,
        declared: Declared,
        pieces: Sequence[Piece],
        said: Sequence[Said],
        own: Sequence[int],
        rounds: Sequence[int],
    ):
        self.declared = declared
        self.near: dict[tuple[int, bool], list[tuple[int, int]]] = {}
        self.began: dict[int, list[tuple[int, int]]] = {}
        """Of each node of the lane, its rounds with when it began."""
        self.ended: dict[int, list[tuple[int, int]]] = {}
        """With when it ended."""
        spans: dict[tuple[int, int], tuple[int, int]] = {}
        for number in own:
            piece, key = pieces[number], (said[number].nodes[0], rounds[number])
            start, end = spans.get(key, (piece.start, piece.end))
            spans[key] = min(start, piece.start), max(end, piece.end)
        for (node, round), (start, end) in sorted(spans.items()):
            self.began.setdefault(node, []).append((start, round))
            self.ended.setdefault(node, []).append((end, round))
        self.first: dict[int, int] = {}
        for (_, round), (start, _) in spans.items():
            self.first[round] = min(start, self.first.get(round, start))
        self.rounds = sorted(self.first)
        self.starts = [self.first[round] for round in self.rounds]

    def round_of(self, piece: Piece, node: int) -> int:
        """The one in which it began, as far as the declared orders leave that open."""
        place = max(bisect_right(self.starts, piece.start) - 1, 0)
        round = self.rounds[place]
        low, high = self.rounds[0], self.rounds[-1]
        for other, back in self.reached(node, before=True):
            ended = self.ended[other]
            place = bisect_right(ended, (piece.start + SLACK, 1 << 62)) - 1
            high = min(high, ended[place][1] + back if place >= 0 else back)
        for other, back in self.reached(node, before=False):
            began = self.began[other]
            place = bisect_left(began, (piece.end - SLACK, -1))
            if place < len(began):
                low = max(low, began[place][1] - back)
        if low > high:  # an order that was not kept decides nothing
            return round
        return max(min(round, high), low)

    def reached(self, node: int, before: bool) -> list[tuple[int, int]]:
        """Nodes of the lane that come before a node, or after it, and so many rounds apart at least."""
        if (node, before) in self.near:
            return self.near[node, before]
        found: dict[int, int] = {node: 0}
        stack = [node]
        while stack:
            at = stack.pop()
            for order in self.declared.orders:
                here, there = (
                    (order.target, order.source) if before else (order.source, order.target)
                )
                back = found[at] + order.rounds_back
                if here == at and back <= FARTHEST and back < found.get(there, FARTHEST + 1):
                    found[there] = back
                    stack.append(there)
        near = [(one, back) for one, back in sorted(found.items()) if one in self.began]
        self.near[node, before] = near
        return near
