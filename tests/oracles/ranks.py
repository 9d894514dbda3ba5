"""Whether ranks that each choose their own route come to the end of a round, run one beside the other.

Every group is an axis of a grid of ranks, with two places on it unless it is known to have one rank. All
ranks choose the same, then one choice is made otherwise wherever it can be, then all by chance. Each runs
its program as far as it gets; the n-th exchange of a communicator ends when all its ranks are there.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from itertools import product
from random import Random
from typing import NamedTuple

from plait.compiler.order import Order
from plait.compiler.round import Choice
from plait.dsl.values import plain
from plait.runtime.schedule import HOST, PHASE_OPS, Bucket, Group, Instruction, Schedule

BY_CHANCE, IF_REFUSED = 20, 2000
"""Ways to choose that are tried beside those that differ in one, and of what is said to fail: a ring of
ranks may take many choices at once."""
MOST_WAYS = 300
SAME_SHAPE = frozenset({"all_gather", "all_reduce", "broadcast", "reduce_scatter"})
MANY = 4
"""Groups that have two places; of more, the first ones."""

Rank = tuple[int, ...]
"""Its place on the axis of every group."""
Answers = dict[Hashable, Hashable]
"""What is chosen, by the choice and the ranks that choose together."""


class Node(NamedTuple):
    past: int
    bit: int
    meets: tuple[int, bool] | None = None
    """The group, and whether its hosts meet."""
    what: Hashable = None


def fail(
    schedule: Schedule, orders: Sequence[Order], random: Random, refused: bool = False
) -> bool:
    """Whether some choice of the ranks makes them hang, or exchange what is not alike."""
    if not (schedule.votes or any(phase.collective for phase in schedule.phases)):
        return False
    world = _World(schedule, orders)
    return any(
        world.stops(answers) for answers in world.ways(random, IF_REFUSED if refused else BY_CHANCE)
    )


class _World:
    def __init__(self, schedule: Schedule, orders: Sequence[Order]):
        self.groups = schedule.groups
        self.choices = orders[0].round.choices
        self.inside = [_inside(self.groups, number) for number in range(len(self.groups))]
        free = [number for number, group in enumerate(self.groups) if group.size != 1][:MANY]
        self.ranks = list(product(*(range(1 + (n in free)) for n in range(len(self.groups)))))
        self.routes = [
            {choice.name: _value(choice) for choice in order.round.choices if choice.asked}
            for order in orders
        ]
        self.values = {
            choice.name: sorted({_value(order.round.choices[place]) for order in orders}, key=str)
            for place, choice in enumerate(self.choices)
        }
        pairs = [(schedule, bucket) for bucket in schedule.buckets]
        self.programs = [
            [list(_Program(*pair, idle=idle).nodes()) for idle in (False, True)] for pair in pairs
        ]
        self.skips = any("skip_idle" in phase.attributes for phase in schedule.phases)

    # What is chosen

    def together(self, rank: Rank, choice: Choice) -> Hashable:
        """Equal for ranks that have one value of it."""
        if choice.group is None:
            return rank
        around = _around(self.groups, choice.group)
        if choice.kind == "dim" and choice.voted:
            return tuple(rank[axis] for axis in around)  # other axes hold the same requests
        inside = self.inside[choice.group]
        return tuple(at for axis, at in enumerate(rank) if axis not in inside)

    def requests(self, rank: Rank) -> Hashable:
        """Equal for ranks that hold the same requests, which are idle together."""
        alike: set[int] = set()
        for one in self.choices:
            if one.kind == "dim" and one.group is not None:
                own = self.inside[one.group]
                apart = own | {*_around(self.groups, one.group)}
                alike |= {n for n in range(len(rank)) if n not in apart} if one.voted else own
        return tuple(at for axis, at in enumerate(rank) if axis not in alike)

    def ways(self, random: Random, by_chance: int) -> Iterator[Answers]:
        keys = {
            (one.name, self.together(rank, one)): one for rank in self.ranks for one in self.choices
        }
        idles = {("", self.requests(rank)) for rank in self.ranks} if self.skips else set()
        bases = random.sample(self.routes, len(self.routes))
        count = 0
        for base in bases:
            chosen: Answers = {
                key: base.get(one.name, random.choice(self.values[one.name]))
                for key, one in keys.items()
            }
            chosen |= dict.fromkeys(idles, False)
            yield chosen
            for one in self.choices:
                for value in self.values[one.name]:
                    yield chosen | {(one.name, self.together(self.ranks[0], one)): value}
                    count += 1
            for key in idles:
                yield chosen | {key: True}
            if count > MOST_WAYS:
                break
        for _ in range(by_chance):
            chances: Answers = {
                key: random.choice(self.values[one.name]) for key, one in keys.items()
            }
            yield chances | {key: random.random() < 0.5 for key in idles}

    def program(self, rank: Rank, answers: Answers) -> list[Node]:
        mine = {one.name: answers[one.name, self.together(rank, one)] for one in self.choices}
        number = next(n for n, route in enumerate(self.routes) if route.items() <= mine.items())
        return self.programs[number][bool(answers.get(("", self.requests(rank)), False))]

    # What becomes of it

    def stops(self, answers: Answers) -> bool:
        programs = {rank: self.program(rank, answers) for rank in self.ranks}
        if len({id(one) for one in programs.values()}) == 1:
            return False  # all issue the same in one order
        meetings: dict[Hashable, dict[Rank, Hashable]] = {}
        places: dict[tuple[Rank, int], Hashable] = {}
        for rank, nodes in programs.items():
            counts: dict[Hashable, int] = {}
            for node in nodes:
                if node.meets is not None:
                    instance = self.instance(rank, node.meets)
                    number = counts[instance] = counts.get(instance, 0) + 1
                    places[rank, node.bit] = instance, number
                    meetings.setdefault((instance, number), {})[rank] = node.what
        for (instance, _), what in meetings.items():  # type: ignore[misc]
            if len(set(what.values())) > 1 or len(what) < self.size(instance[0][0]):
                return True
        return self.hangs(programs, places, meetings)

    def hangs(self, programs: dict[Rank, list[Node]], places: dict, meetings: dict) -> bool:
        left = {rank: list(nodes) for rank, nodes in programs.items()}
        over = dict.fromkeys(programs, 0)
        there: dict[Hashable, set[Rank]] = {}
        moved = True
        while moved:
            moved = False
            for rank, nodes in left.items():
                waiting = []
                for node in nodes:
                    where = places.get((rank, node.bit))
                    ready = not node.past & ~over[rank]
                    if ready and where is not None and rank not in there.setdefault(where, set()):
                        there[where].add(rank)
                        moved = True
                    if ready and (where is None or len(there[where]) == len(meetings[where])):
                        over[rank] |= node.bit
                        moved = True
                    else:
                        waiting.append(node)
                left[rank] = waiting
        return any(left.values())

    def instance(self, rank: Rank, meets: tuple[int, bool]) -> Hashable:
        inside = self.inside[meets[0]]
        return meets, tuple(at for axis, at in enumerate(rank) if axis not in inside)

    def size(self, group: int) -> int:
        inside = self.inside[group]
        return len({tuple(rank[axis] for axis in sorted(inside)) for rank in self.ranks})


def _value(choice: Choice) -> Hashable:
    return repr(plain(choice.value))


def _inside(groups: Sequence[Group], number: int) -> set[int]:
    found = {number}
    for inner, group in enumerate(groups):
        if group.inside == number:
            found |= _inside(groups, inner)
    return found


def _around(groups: Sequence[Group], number: int) -> list[int]:
    outer = groups[number].inside
    return [] if outer is None else [outer, *_around(groups, outer)]


class _Program:
    """What a rank does in one round of a bucket, each with all that is over when it begins."""

    def __init__(self, schedule: Schedule, bucket: Bucket, *, idle: bool):
        self.schedule, self.bucket, self.idle = schedule, bucket, idle
        self.tails: dict[Hashable, int] = {}
        self.pending: dict[Hashable, int] = {}
        self.events: dict[Hashable, int] = {}
        self.count = 0

    def nodes(self) -> Iterator[Node]:
        for one in self.schedule.program_of(self.bucket):
            if one.op == "replay":
                yield from self.replay(one)
            else:
                yield from self.step(one, one.on, self.events)

    def step(
        self, one: Instruction, queue: Hashable, events: dict[Hashable, int]
    ) -> Iterator[Node]:
        if one.op == "record":
            events[one.of] = self.frontier(queue)
        elif one.op in ("wait", "block"):
            # What an earlier round recorded is over: all ranks came to its end.
            over = 0 if one.rounds_back else events.get(one.of, 0)
            if one.op == "block":
                self.tails[HOST] = self.tails.get(HOST, 0) | over
            else:
                self.pending[queue] = self.pending.get(queue, 0) | over
        elif one.op == "vote":
            vote = self.schedule.votes[one.of]
            alone = vote.group is None or self.schedule.groups[vote.group].size == 1
            meets = None if alone or vote.group is None else (vote.group, True)
            yield self.node(HOST, meets, vote.names)
        elif one.op in PHASE_OPS:
            yield self.node(queue, *self.exchange(one.of))
        elif one.op == "load":
            yield self.node(queue)

    def replay(self, one: Instruction) -> Iterator[Node]:
        opened = self.node(one.on)
        yield opened
        graph = self.schedule.captures[one.of]
        events: dict[Hashable, int] = {}
        queues: dict[int, Hashable] = {
            inner.on: one.on if inner.on == graph.stream else (one.of, inner.on)
            for inner in graph.program
        }
        for queue in queues.values():
            if queue != one.on:
                self.tails[queue] = opened.past | opened.bit
        for inner in graph.program:
            yield from self.step(inner, queues[inner.on], events)
        for queue in queues.values():
            self.tails[one.on] |= self.tails[queue]
        yield self.node(one.on)

    def frontier(self, queue: Hashable) -> int:
        return self.tails.get(queue, 0) | self.pending.get(queue, 0)

    def node(
        self, queue: Hashable, meets: tuple[int, bool] | None = None, what: Hashable = None
    ) -> Node:
        past = self.frontier(queue) | self.tails.get(HOST, 0)
        self.pending.pop(queue, None)
        made = Node(past, 1 << self.count, meets, what)
        self.count += 1
        self.tails[queue] = past | made.bit
        return made

    def exchange(self, number: int) -> tuple[tuple[int, bool] | None, Hashable]:
        phase = self.schedule.phases[number]
        made = phase.collective
        if made is None or (self.idle and "skip_idle" in phase.attributes):
            return None, None
        if self.schedule.groups[made.group].size == 1:
            return None, None
        places = [n for n, one in enumerate(phase.arguments) if one.kind != "reads"]
        buffers = [phase.arguments[n].buffer for n in places or range(len(phase.arguments))]
        types = tuple(self.schedule.buffers[one].dtype for one in buffers)
        sizes = tuple(self.bucket.shapes[one] for one in buffers)
        regions = self.bucket.regions[number]
        shaped = (sizes, regions) if made.kind in SAME_SHAPE else None
        what = (made.kind, phase.name, phase.capture is None, types, shaped)
        return (made.group, phase.stream == HOST), what
