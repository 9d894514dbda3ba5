"""A machine of queues that runs a trace in any order its records and waits allow, and looks at all of them.

Every access has a beginning and an end, and others may come between. Two that meet must come one after
the other, as in the text: where they overlap, or come in another order, the result is another. The
search looks at every state that some interleaving reaches, up to a number; beyond it, at random
interleavings. What it finds is an order of steps, which `run` then goes through with values.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import NamedTuple

from oracles.trace import Cells, Close, Open, Queue, Record, Run, Step, Wait
from plait.runtime.schedule import HOST

STATES = 2_000
"""Looked at before chance takes over."""
TRIES = 200

Order = list[int]
"""Numbers of steps, as one interleaving has them."""


class Claim(NamedTuple):
    """Memory that is touched from one step to another."""

    step: int
    """The step it is of: those of one do not meet."""
    names: tuple[str, ...]
    """The phases it is of."""
    round: int
    reads: Cells
    writes: Cells
    replay: int | None
    whole: bool
    """Whether it is that of a whole replay."""

    def meets(self, other: Claim) -> bool:
        if self.step == other.step:
            return False
        if self.replay is not None and self.replay == other.replay and self.whole != other.whole:
            return False
        return bool(
            self.writes & other.writes or self.writes & other.reads or self.reads & other.writes
        )


class Searched(NamedTuple):
    different: Order | None
    """How an interleaving with another result begins."""
    every: bool
    """Whether every interleaving was looked at and none was different."""


@dataclass(slots=True)
class Action:
    """What happens at one instant, in the order of its queue, once others have come so far."""

    number: int
    queue: int
    place: int
    """In its queue."""
    needs: dict[int, int]
    """Of other queues, how many of their actions are over by then."""
    begins: list[int] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)


class Machine:
    def __init__(self, steps: Sequence[Step]):
        self.actions: list[Action] = []
        self.claims: list[Claim] = []
        self.queues: list[list[Action]] = []
        self.numbers: dict[Queue, int] = {}
        self.pending: list[dict[int, int]] = []
        """Of every queue, what its next action needs."""
        self.host = self.queue((None, HOST))
        events: dict[object, dict[int, int]] = {}
        lasting: dict[int, list[int]] = {}
        for number, step in enumerate(steps):
            self.step = number
            queue = self.queue(step.queue)
            match step:
                case Run():
                    self.run(queue, step, lasting)
                case Open():
                    claim = self.claim(step.phases, step, replay=step.replay, whole=True)
                    self.action(queue).begins.append(claim)
                    lasting[step.replay] = [claim]
                case Close():
                    self.action(queue).ends += lasting.pop(step.replay)
                case Record():
                    reached = dict(self.pending[queue])
                    reached[queue] = len(self.queues[queue])
                    events[step.event] = reached
                case Wait():
                    _raise(self.pending[queue], events[step.event])
        self.meets = self.meetings()
        """Of every claim, those it meets that come before it in the text, as bits."""
        self.quiet = self.without_company()

    # Building

    def queue(self, name: Queue) -> int:
        if name not in self.numbers:
            self.numbers[name] = len(self.queues)
            self.queues.append([])
            self.pending.append({})
        return self.numbers[name]

    def action(self, queue: int) -> Action:
        """The next on a queue: after all that the host had done when it issued it."""
        needs, self.pending[queue] = self.pending[queue], {}
        if queue != self.host:
            _raise(needs, self.pending[self.host])
            needs[self.host] = max(needs.get(self.host, 0), len(self.queues[self.host]))
        needs.pop(queue, None)
        made = Action(len(self.actions), queue, len(self.queues[queue]), needs)
        self.actions.append(made)
        self.queues[queue].append(made)
        return made

    def claim(
        self, names: tuple[str, ...], step: Run | Open, *, replay: int | None, whole: bool = False
    ) -> int:
        sets = step.reads, step.writes
        self.claims.append(Claim(self.step, names, step.round, *sets, replay, whole))
        return len(self.claims) - 1

    def run(self, queue: int, step: Run, lasting: dict[int, list[int]]) -> None:
        claim = self.claim(step.phases, step, replay=step.replay)
        issued = []
        if step.from_issue:
            early = step._replace(reads=step.from_issue, writes=step.changed_from_issue)
            issued = [self.claim(step.phases, early, replay=step.replay)]
            self.action(self.host).begins += issued
        self.action(queue).begins.append(claim)
        if step.to_close:
            assert step.replay is not None
            late = step._replace(reads=step.to_close, writes=frozenset())
            kept = self.claim(step.phases, late, replay=step.replay)
            self.actions[-1].begins.append(kept)
            lasting[step.replay].append(kept)
        self.action(queue).ends += [claim, *issued]

    def meetings(self) -> list[int]:
        writers: dict[int, list[int]] = {}
        touching: dict[int, list[int]] = {}
        found = []
        for number, claim in enumerate(self.claims):
            near = {other for cell in claim.writes for other in touching.get(cell, ())}
            near |= {other for cell in claim.reads for other in writers.get(cell, ())}
            found.append(sum(1 << other for other in near if claim.meets(self.claims[other])))
            for cell in claim.writes:
                writers.setdefault(cell, []).append(number)
            for cell in claim.reads | claim.writes:
                touching.setdefault(cell, []).append(number)
        return found

    def without_company(self) -> set[int]:
        """Actions whose memory no action of another queue ever touches with effect."""
        homes = {one: action.queue for action in self.actions for one in action.begins}
        shared = {
            number
            for one, before in enumerate(self.meets)
            for other in _numbers(before)
            if homes[one] != homes[other]
            for number in (one, other)
        }
        return {a.number for a in self.actions if shared.isdisjoint((*a.begins, *a.ends))}

    # Running

    def enabled(self, done: Sequence[int]) -> Iterator[Action]:
        for queue, at in zip(self.queues, done, strict=True):
            if at < len(queue):
                action = queue[at]
                if all(done[other] >= count for other, count in action.needs.items()):
                    yield action

    def bad(self, action: Action, ended: int) -> bool:
        """Whether something begins that meets what comes before it in the text and is not over."""
        return any(self.meets[claim] & ~ended for claim in action.begins)

    def run_in(self, order: Sequence[int]) -> tuple:
        """All values read, and all that every cell held, when the actions come in that order."""
        memory: dict[int, int] = {}
        history: dict[int, list[int]] = {}
        taken: dict[int, list[int]] = {}
        torn: set[int] = set()
        active: set[int] = set()
        for number in order:
            action = self.actions[number]
            for one in action.begins:
                claim = self.claims[one]
                overlapping = {other for other in active if claim.meets(self.claims[other])}
                torn |= overlapping and {*overlapping, one}
                active.add(one)
                taken[one] = [memory.get(cell, 0) for cell in sorted(claim.reads)]
            for one in action.ends:
                claim = self.claims[one]
                active.discard(one)
                if not claim.whole:
                    mixed = hash((claim.names, claim.round, one in torn, *taken[one]))
                    for cell in claim.writes:
                        memory[cell] = hash((mixed, cell))
                        history.setdefault(cell, []).append(memory[cell])
        return taken, torn, history

    @property
    def in_text_order(self) -> Order:
        return list(range(len(self.actions)))

    def different(self, order: Sequence[int]) -> bool:
        """Whether the interleaving that begins like that, and goes on by the text, has another result."""
        done = set(order)
        whole = [*order, *(n for n in self.in_text_order if n not in done)]
        return self.run_in(whole) != self.run_in(self.in_text_order)

    # Searching

    def search(self, random: Random, states: int = STATES, tries: int = TRIES) -> Searched:
        """All interleavings, or of very many some, up to the first with another result than the text."""
        found, every = self.everywhere(states)
        for _ in range(0 if found or every else tries):
            found, bad = self.somewhere(random)
            if bad:
                break
            found = None
        return Searched(found, every)

    def everywhere(self, states: int) -> tuple[Order | None, bool]:
        """The first bad step of any interleaving, with the way to it, and whether all were looked at."""
        start: tuple[int, ...] = (0,) * len(self.queues)
        seen: set[tuple[int, ...]] = {start}
        stack: list[tuple[tuple[int, ...], int, tuple | None]] = [(start, 0, None)]
        while stack:
            done, ended, way = stack.pop()
            for action in self.one_or_all(done):
                here = (action.number, way)
                if self.bad(action, ended):
                    return _unwound(here), False
                queue = action.queue
                after = (*done[:queue], done[queue] + 1, *done[queue + 1 :])
                if after not in seen:
                    if len(seen) >= states:
                        return None, False
                    seen.add(after)
                    stack.append((after, ended | _bits(action.ends), here))
        return None, True

    def one_or_all(self, done: Sequence[int]) -> list[Action]:
        """What may come next; of what touches nothing that others touch, one alone is enough."""
        found = list(self.enabled(done))
        quiet = next((one for one in found if one.number in self.quiet), None)
        return [quiet] if quiet else found

    def somewhere(self, random: Random) -> tuple[Order, bool]:
        """A random interleaving: queues go first by rank, which may change. It ends with a bad step."""
        done = [0] * len(self.queues)
        ranks = [random.random() for _ in self.queues]
        uniform = random.random() < 0.3
        ended, order = 0, []
        while found := list(self.enabled(done)):
            if uniform:
                action = random.choice(found)
            else:
                action = max(found, key=lambda one: ranks[one.queue])
                if random.random() < 0.1:
                    ranks[action.queue] = random.random()
            order.append(action.number)
            if self.bad(action, ended):
                return order, True
            done[action.queue] += 1
            ended |= _bits(action.ends)
        return order, False

    def replayed(self, earlier: str, later: str, apart: int) -> Order | None:
        """Only what must come before the later phase, by the text, and then the later one.

        None where the earlier one of so many rounds before is over by then: then nothing was shown.
        """
        last = max(claim.round for claim in self.claims)
        for action in self.actions:
            for number in action.begins:
                claim = self.claims[number]
                if later not in claim.names or claim.round != last:
                    continue
                order = self.before(action)
                ended = sum(_bits(self.actions[one].ends) for one in order)
                left = self.meets[number] & ~ended
                if any(self.is_of(one, earlier, last - apart) for one in _numbers(left)):
                    return [*order, action.number]
        return None

    def is_of(self, claim: int, name: str, round: int) -> bool:
        return name in self.claims[claim].names and self.claims[claim].round == round

    def before(self, action: Action) -> Order:
        """Everything that must be over when an action comes, in the order of the text."""
        counts = [0] * len(self.queues)
        todo = [action]
        while todo:
            one = todo.pop()
            reached = {**one.needs, one.queue: one.place}
            for queue, count in reached.items():
                if counts[queue] < count:
                    todo += self.queues[queue][counts[queue] : count]
                    counts[queue] = count
        return sorted(
            one.number
            for queue, count in zip(self.queues, counts, strict=True)
            for one in queue[:count]
        )


def _raise(needs: dict[int, int], more: dict[int, int]) -> None:
    for queue, count in more.items():
        needs[queue] = max(needs.get(queue, 0), count)


def _bits(numbers: Sequence[int]) -> int:
    return sum(1 << number for number in numbers)


def _numbers(bits: int) -> Iterator[int]:
    while bits:
        lowest = bits & -bits
        yield lowest.bit_length() - 1
        bits ^= lowest


def _unwound(way: tuple | None) -> Order:
    order = []
    while way is not None:
        number, way = way
        order.append(number)
    return order[::-1]
