"""Ranks that do not exchange the same, or that hang, by trying every two with all that each may choose.

This judges the rules about ranks, so it shares none of their algorithms. Every group has an axis of its
own, and those of the groups inside it; two ranks differ along some axes, and share an instance of a
group that has all of these. What a rank exchanges is read off its round; whether the two come to an end
is seen by letting both go on as far as they can.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, islice, product

from plait.compiler.mutate.needed import begins
from plait.compiler.round import HOST, Choice, Group, Phase, Round, Vote
from plait.dsl.record import Record
from plait.dsl.values import plain

MOST_PAIRS = 40_000
"""Of what two ranks may choose, for one way to differ; beyond it the first ones are looked at."""
SAME_SHAPE = ("all_gather", "all_reduce", "broadcast", "reduce_scatter")

Communicator = tuple[int, bool]
"""A group, and whether its hosts use it."""


class Unmatched(Record):
    """Two ranks of a group that do not exchange the same, or that wait for each other."""

    group: str
    hangs: bool
    one: str
    other: str

    def __str__(self) -> str:
        how = "wait for each other" if self.hangs else "do not exchange the same"
        return f"two ranks of {self.group}, {self.one} and {self.other}, {how}"


@dataclass(frozen=True, eq=False)
class _Rank:
    """What a rank may do in a round."""

    round: Round
    idle: bool
    answers: tuple[Hashable, ...]
    """By choice; None: it is not asked."""
    exchanged: dict[Communicator, tuple[Hashable, ...]]
    steps: list[tuple[int, int, Communicator | None]]
    """What is over when each thing begins, its own bit, and where it meets others."""

    @property
    def name(self) -> str:
        return (self.round.answers or "any") + (" idle" if self.idle else "")


def unmatched(routes: Sequence[Round]) -> Iterator[Unmatched]:
    """Of every communicator, the first two ranks that fail in it."""
    if not any(_meets_others(one) for one in routes):
        return
    groups, choices = routes[0].groups, routes[0].choices
    ranks = [_rank(one, idle) for one in routes for idle in _idles(routes)]
    meet: dict[tuple[int, int], set[int]] = {}
    """Of two ranks, the groups in which they may be together."""
    failed: set[int] = set()
    for apart in _ways(groups):
        shared = [n for n in range(len(groups)) if apart <= _axes(groups, n)]
        for one, other in islice(_pairs(ranks, choices, groups, apart), MOST_PAIRS):
            meet.setdefault((one, other), set()).update(shared)
            for group in shared:
                if group not in failed and _differ(ranks[one], ranks[other], group):
                    failed.add(group)
                    names = ranks[one].name, ranks[other].name
                    yield Unmatched(groups[group].name, False, *names)
    if failed:
        return
    for (one, other), shared in meet.items():
        # Ranks of a grid take the two turns about, so that both are in every group they may share.
        stuck = one < other and _stuck(ranks[one], ranks[other], shared)
        if stuck:
            yield Unmatched(groups[stuck[0]].name, True, ranks[one].name, ranks[other].name)
            return


def _meets_others(round: Round) -> bool:
    votes = (one for one in round.items if isinstance(one, Vote))
    return any(p.collective for p in round.phases) or any(one.group is not None for one in votes)


def _idles(routes: Sequence[Round]) -> tuple[bool, ...]:
    skips = any("skip_idle" in phase.attributes for one in routes for phase in one.phases)
    return (False, True) if skips else (False,)


def _ways(groups: tuple[Group, ...]) -> Iterator[frozenset[int]]:
    """Axes along which two ranks of some group may differ."""
    free = [number for number, group in enumerate(groups) if group.size != 1]
    for count in range(1, len(free) + 1):
        for some in combinations(free, count):
            apart = frozenset(some)
            if any(apart <= _axes(groups, number) for number in free):
                yield apart


def _axes(groups: tuple[Group, ...], group: int) -> frozenset[int]:
    """Its own, and those of the groups inside it."""
    inner = [number for number, one in enumerate(groups) if one.inside == group]
    return frozenset({group}).union(*(_axes(groups, one) for one in inner))


def _around(groups: tuple[Group, ...], group: int) -> frozenset[int]:
    """The own axes of those that contain it."""
    outer = groups[group].inside
    return frozenset() if outer is None else _around(groups, outer) | {outer}


def _alike(groups: tuple[Group, ...], choice: Choice, apart: frozenset[int]) -> bool:
    """Whether two ranks that differ so have one value of it."""
    if choice.group is None:
        return False
    if apart <= _axes(groups, choice.group):
        return True
    # Who votes on a size holds requests of its own; along other axes the same ones are held.
    return choice.kind == "dim" and choice.voted and not apart & _around(groups, choice.group)


def _together(
    groups: tuple[Group, ...], choices: tuple[Choice, ...], apart: frozenset[int]
) -> bool:
    """Whether two ranks that differ so hold the same requests, so that both are idle or none."""
    for one in choices:
        if one.kind != "dim" or one.group is None:
            continue
        own = _axes(groups, one.group)
        if not apart & (own | _around(groups, one.group)) if one.voted else apart <= own:
            return True
    return False


def _pairs(
    ranks: list[_Rank],
    choices: tuple[Choice, ...],
    groups: tuple[Group, ...],
    apart: frozenset[int],
) -> Iterator[tuple[int, int]]:
    same = [place for place, one in enumerate(choices) if _alike(groups, one, apart)]
    together = _together(groups, choices, apart)
    for (first, one), (second, other) in product(enumerate(ranks), repeat=2):
        if together and one.idle != other.idle:
            continue
        answers = ((one.answers[place], other.answers[place]) for place in same)
        if all(a == b or a is None or b is None for a, b in answers):
            yield first, second


# What a rank does


def _rank(round: Round, idle: bool) -> _Rank:
    answers = tuple(repr(plain(c.value)) if c.asked else None for c in round.choices)
    exchanged: dict[Communicator, tuple[Hashable, ...]] = {}
    steps = []
    for _, place, past, bit in begins(round):
        item = round.items[place]
        skipped = idle and isinstance(item, Phase) and "skip_idle" in item.attributes
        met = None if skipped else _met(round, place)
        if met is not None:
            of, what = met
            exchanged[of] = (*exchanged.get(of, ()), what)
        steps.append((past, bit, met and met[0]))
    return _Rank(round, idle, answers, exchanged, steps)


def _met(round: Round, place: int) -> tuple[Communicator, Hashable] | None:
    """Where an item meets other ranks, and what has to be the same on all of them."""
    item = round.items[place]
    if isinstance(item, Vote) and item.group is not None:
        return ((item.group, True), item.names) if round.groups[item.group].size != 1 else None
    if not isinstance(item, Phase) or item.collective is None:
        return None
    made = item.collective
    if round.groups[made.group].size == 1:
        return None
    sent = [one for one in item.accesses if one.writes] or list(item.accesses)
    types = tuple(round.buffers[one.buffer].dtype for one in sent)
    shapes = tuple((round.buffers[one.buffer].shape, one.region) for one in sent)
    sized = (shapes, item.rows) if made.kind in SAME_SHAPE else None
    what = (made.kind, item.name, item.capture is None, types, sized, made.capacity)
    return (made.group, item.stream == HOST), what


# Two ranks


def _differ(one: _Rank, other: _Rank, group: int) -> bool:
    ways = ((group, False), (group, True))
    return any(one.exchanged.get(way) != other.exchanged.get(way) for way in ways)


def _stuck(one: _Rank, other: _Rank, shared: set[int]) -> list[int]:
    """The groups that two ranks still wait in once neither can go on."""
    left = [list(one.steps), list(other.steps)]
    over = [0, 0]
    arrived: list[dict[Communicator, int]] = [{}, {}]
    begun: tuple[set[int], set[int]] = (set(), set())
    moved = True
    while moved:
        moved = False
        for side in (0, 1):
            for step in left[side][:]:
                past, bit, of = step
                if past & ~over[side]:
                    continue
                if of is not None and of[0] in shared:
                    if bit not in begun[side]:
                        begun[side].add(bit)
                        arrived[side][of] = arrived[side].get(of, 0) + 1
                        moved = True
                    place = _place(one if side == 0 else other, of, bit)
                    if arrived[1 - side].get(of, 0) <= place:
                        continue
                left[side].remove(step)
                over[side] |= bit
                moved = True
    return [of[0] for steps in left for _, _, of in steps if of is not None and of[0] in shared]


def _place(rank: _Rank, of: Communicator, bit: int) -> int:
    """Which exchange of a communicator it is, from 0."""
    return [own for _, own, where in rank.steps if where == of].index(bit)
