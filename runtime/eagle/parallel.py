"""Continues texts on several ranks at once, each with requests of its own and a part of the experts.

All ranks take the same steps: whether there is another round, how large it is, whether it replays and
when prompts are run is agreed before each, and a rank without requests takes part with empty rows.
"""

from __future__ import annotations

import time
from typing import Any

import torch
import torch.distributed as dist

from plait.runtime.eagle.chain import Chain
from plait.runtime.eagle.parallel_chain import ParallelChain
from plait.runtime.eagle.request import Request
from plait.runtime.eagle.speculative import Speculative
from plait.runtime.models.tiny.model import TinyModel
from plait.runtime.models.tiny.split import SplitModel
from plait.runtime.schedule import Schedule


class Parallel(Speculative):
    """As `Speculative`, on one rank. `group` is for agreeing, and no exchange's: rounds are in flight then.

    `willing`: what this rank answers the guards of the schedule, such as whether it would replay.
    """

    def __init__(
        self,
        schedule: Schedule,
        model: SplitModel,
        requests: list[Request],
        *,
        group: Any,
        willing: bool = True,
        **options: Any,
    ):
        self.willing = willing
        self.group = group
        self.split = model
        self.guards = [name for name, value in schedule.buckets[-1].route if value in (True, False)]
        self.opaque = [buffer.name for buffer in schedule.buffers if buffer.opaque]
        self.rounds: list[tuple[int, bool]] = []
        """Of each, the requests of the rank that had most, and whether every rank was willing."""
        super().__init__(schedule, model, requests, **options)

    def chain_of(self, model: TinyModel, span: int) -> Chain:
        return ParallelChain(self.split, self.slots, span, self.rows, self.opaque)

    def prepare(self, count: int) -> None:
        (most,) = self._most(count)
        if most:
            self.runner.prepare(**{self.dim: most}, **dict.fromkeys(self.guards, False))

    def sizes(self) -> dict[str, Any]:
        most, willing = self.rounds[-1]
        return {self.dim: most} | dict.fromkeys(self.guards, willing)

    def advance(self, rounds: int) -> bool:
        """Runs up to so many rounds and waits for them; whether any rank has a request left."""
        with torch.no_grad():
            self._refill()
            began = time.perf_counter()
            for _ in range(rounds):
                ended = any(request.done for request in self._in_flight)
                most, unwilling, ended = self._most(len(self.live), not self.willing, ended)
                if not most:
                    break
                if ended:
                    self._settle()
                    self.seconds += time.perf_counter() - began
                    self._refill()
                    began = time.perf_counter()
                    continue
                self.rounds.append((most, not unwilling))
                self._round()
            self._settle()
            self.seconds += time.perf_counter() - began
            self._refill()
            (most,) = self._most(len(self.live))
        return most > 0

    def _refill(self) -> None:
        self._take_out()
        while True:
            mine = bool(self.waiting) and len(self.live) < self.slots
            (any_rank,) = self._most(mine)
            if not any_rank:
                return
            if mine:
                self._put_in(self.waiting.pop())
            else:
                self.split.pass_by()

    def _most(self, *values: int) -> list[int]:
        """The largest on any rank, of each."""
        found = torch.tensor(values)
        dist.all_reduce(found, dist.ReduceOp.MAX, group=self.group)
        return found.tolist()
