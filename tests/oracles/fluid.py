"""When what runs in a schedule begins and ends, step by step in exact fractions: a judge of the simulation.

Nothing takes time but phases, which share resources as a fluid would; a speed is rounded down to a part of
`FULL`, and what is done within a nanosecond is over at its end, as the simulation says of itself.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from fractions import Fraction

from oracles.trace import Close, Open, Queue, Record, Run, Step, Wait
from plait.compiler.timing.sharing import FULL, WHOLE, Uses
from plait.runtime.schedule import HOST


def fair(running: Sequence[Uses], resources: int) -> list[Fraction]:
    """All rise together by the least step that fills a resource, or brings one to full speed."""
    speed = [Fraction(0)] * len(running)
    held: set[int] = set()
    while len(held) < len(running):
        steps = [1 - speed[n] for n in range(len(running)) if n not in held]
        for resource in range(resources):
            use = [dict(uses).get(resource, 0) for uses in running]
            rising = sum(use[n] for n in range(len(running)) if n not in held)
            if rising:
                left = WHOLE - sum(a * b for a, b in zip(use, speed, strict=True))
                steps.append(Fraction(left, rising))
        step = min(steps)
        speed = [s if n in held else s + step for n, s in enumerate(speed)]
        for number, uses in enumerate(running):
            full = any(
                sum(dict(u).get(resource, 0) * s for u, s in zip(running, speed, strict=True))
                == WHOLE
                for resource, _ in uses
            )
            if speed[number] == 1 or full:
                held.add(number)
    return speed


def pace(running: Sequence[Uses], resources: int) -> list[int]:
    """Speeds in parts of `FULL`, as they are rounded."""
    return [max(int(one * FULL), 1) for one in fair(running, resources)]


def fluid(
    steps: Sequence[Step], costs: Mapping[str, tuple[int, Uses]], resources: int
) -> dict[tuple[str, int], tuple[int, int]]:
    """By phase and round, the nanoseconds it began and ended at."""
    return _Fluid(steps, costs, resources).run()


class _Fluid:
    def __init__(
        self, steps: Sequence[Step], costs: Mapping[str, tuple[int, Uses]], resources: int
    ):
        self.steps = steps
        self.costs = costs
        self.resources = resources
        self.now = 0
        self.queues: dict[Queue, list[int]] = {}
        self.issue: list[int] = []
        """Of each step, how many of the host's are before it in the text."""
        hosts = 0
        for number, step in enumerate(steps):
            self.queues.setdefault(step.queue, []).append(number)
            self.issue.append(hosts)
            hosts += step.queue[1] == HOST
        self.next = dict.fromkeys(self.queues, 0)
        self.reached: set[Hashable] = set()
        self.begun: dict[int, int] = {}
        self.left: dict[int, Fraction] = {}
        """Of those that run."""
        self.found: dict[tuple[str, int], tuple[int, int]] = {}

    def run(self) -> dict[tuple[str, int], tuple[int, int]]:
        self.settle()
        while self.left:
            running = sorted(self.left)
            paces = pace([self.uses(one) for one in running], self.resources)
            ends = [
                self.now + -(-self.left[one] * FULL // each)
                for one, each in zip(running, paces, strict=True)
            ]
            then = min(ends)
            for one, each, end in zip(running, paces, ends, strict=True):
                self.left[one] -= Fraction(each * (then - self.now), FULL)
                if end == then:
                    self.end(one, then)
            self.now = then
            self.settle()
        assert all(self.next[queue] == len(items) for queue, items in self.queues.items())
        return self.found

    def settle(self) -> None:
        """Whatever can be done at this moment is."""
        going = True
        while going:
            going = False
            for queue, items in self.queues.items():
                while self.next[queue] < len(items) and self.step(items[self.next[queue]], queue):
                    going = True

    def step(self, number: int, queue: Queue) -> bool:
        """Whether the next step of a queue could be done, or begun."""
        step = self.steps[number]
        hosts = self.next.get((None, HOST), 0)
        if number in self.left or (queue[1] != HOST and hosts < self.issue[number]):
            return False
        if isinstance(step, Wait) and step.event not in self.reached:
            return False
        if isinstance(step, Run) and step.name in self.costs:
            self.begun[number] = self.now
            self.left[number] = Fraction(self.costs[step.name][0])
            return False
        if isinstance(step, Record):
            self.reached.add(step.event)
        assert isinstance(step, Run | Open | Close | Record | Wait)
        self.next[queue] += 1
        return True

    def uses(self, number: int) -> Uses:
        step = self.steps[number]
        return () if step.queue[1] == HOST else self.costs[self.name(number)[0]][1]

    def end(self, number: int, now: int) -> None:
        del self.left[number]
        self.next[self.steps[number].queue] += 1
        self.found[self.name(number)] = self.begun[number], now

    def name(self, number: int) -> tuple[str, int]:
        step = self.steps[number]
        assert isinstance(step, Run)
        return step.name, step.round
