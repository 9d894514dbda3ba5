"""One thread that does what streams were given, one beginning or end at a time, in an order of its choice.

What the device is given is legal to do once all that must come before it is done; until the host waits
for it, it need not be done at all. So after everything that the host issues, and while it waits, the
choice (`choice.py`) says who goes on: a stream that can, or the host.
"""

from __future__ import annotations

from random import Random

import torch

from plait.runtime.devices.adversary.calls import Call
from plait.runtime.devices.adversary.choice import Choice
from plait.runtime.devices.adversary.lives import Lives
from plait.runtime.devices.adversary.poison import poison_all
from plait.runtime.devices.adversary.queues import Gate, Queue
from plait.runtime.devices.adversary.replay import Graph
from plait.runtime.devices.base import DeviceError
from plait.runtime.devices.job import Job


class Machine:
    def __init__(self, choice: Choice, random: Random, poisons: bool):
        self.choice = choice
        self.poisons = poisons
        self.lives = Lives(random, poisons)
        self.queues: list[Queue] = []
        self.actions = 0
        """How many beginnings and ends there were."""
        self._pools: dict[int, list[Graph]] = {}
        self._pooled: dict[int, list[torch.Tensor]] = {}

    def call(self, job: Job, round: int) -> Call:
        made = Call(job, round, self.lives)
        if self.choice.early(made):
            made.read_early()
        return made

    def drift(self) -> None:
        """The host has issued something: streams go on for as long as the choice has them before it."""
        while (queue := self.choice.before_host(self.ready())) is not None:
            self.act(queue)

    def until(self, gate: Gate) -> None:
        """The host waits."""
        while not gate.opened:
            ready = self.ready()
            if gate.opened:
                break
            if not ready:
                raise DeviceError(f"the host waits for `{gate.name}`, and nothing can go on")
            self.act(self.choice.among(ready))

    def finish(self) -> None:
        """Until nothing is left. Raises DeviceError when streams wait for each other."""
        while ready := self.ready():
            self.act(self.choice.among(ready))
        for queue in self.queues:
            if not queue.idle:
                held = queue.flying or queue.items[0]
                raise DeviceError(
                    f"{queue.name} is held up at `{held.name}`, and nothing can go on"
                )

    def ready(self) -> list[Queue]:
        while any(queue.settle() for queue in self.queues):
            pass
        return [queue for queue in self.queues if queue.next is not None]

    def lies_in(self, pool: int, tensors: list[torch.Tensor]) -> None:
        """Memory that someone put in a pool of graphs, whose replays write over it."""
        self._pooled.setdefault(pool, []).extend(tensors)

    def forget_results(self, graph: Graph) -> None:
        """A graph replays: what graphs of its pool have written is lost, and what else lies there."""
        graphs = [graph] if graph.pool is None else self._pools.setdefault(graph.pool, [])
        if graph not in graphs:
            graphs.append(graph)
        if self.poisons:
            for one in graphs:
                poison_all(one.results)
            poison_all([] if graph.pool is None else self._pooled.get(graph.pool, []))

    def act(self, queue: Queue) -> None:
        self.actions += 1
        threads = torch.get_num_threads()
        if threads != 1:
            torch.set_num_threads(1)
        try:
            with torch.no_grad():
                queue.act()
        finally:
            if threads != 1:
                torch.set_num_threads(threads)
