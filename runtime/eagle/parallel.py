"""Continues texts on several ranks at once, each with requests of its own and a part of the experts.

All ranks take the same steps. Size and route of a round are what the schedule votes on; when prompts are
run, and when there is nothing left, is agreed here. A rank without requests takes part with empty rows.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch

from plait.runtime.eagle.chain import Chain
from plait.runtime.eagle.parallel_chain import ParallelChain, check_split
from plait.runtime.eagle.request import Request
from plait.runtime.eagle.sizes import dim_of, rows_of
from plait.runtime.eagle.speculative import Speculative
from plait.runtime.exchange.distributed import Distributed
from plait.runtime.exchange.link import GroupLink, Link, LoneLink
from plait.runtime.exchange.sizes import Sizes
from plait.runtime.models.tiny.model import TinyModel
from plait.runtime.models.tiny.split import SplitModel
from plait.runtime.ranks.group import Ranks
from plait.runtime.runner import BindError
from plait.runtime.schedule import Schedule


class Parallel(Speculative):
    """As `Speculative`, on one of `ranks`, or on one rank alone.

    `willing`: what this rank answers the guards of the schedule, such as whether it would replay.
    """

    def __init__(
        self,
        schedule: Schedule,
        model: TinyModel,
        requests: list[Request],
        *,
        ranks: Ranks | None = None,
        willing: bool = True,
        **options: Any,
    ):
        self.ranks = ranks
        self.willing = willing
        self.exchanges_over = group_of(schedule)
        self.exchange = exchange_of(schedule, model, self.exchanges_over, ranks)
        check_split(schedule, model.shape)
        self.split = SplitModel(model, self.exchange)
        self.guards = [name for name, value in schedule.buckets[-1].route if value in (True, False)]
        self.opaque = [buffer.name for buffer in schedule.buffers if buffer.opaque]
        super().__init__(schedule, self.split, requests, ranks=ranks, **options)

    def chain_of(self, model: TinyModel, span: int) -> Chain:
        return ParallelChain(self.split, self.slots, span, self.rows, self.opaque)

    def prepare(self, progress: Callable[[str], None], count: int) -> None:
        # Ranks capture all buckets together, and which they need no rank knows.
        self.runner.prepare(progress)

    def advance(self, rounds: int) -> bool:
        """Runs up to so many rounds and waits for them; whether any rank has a request left."""
        with torch.no_grad():
            self._refill()
            for _ in range(rounds):
                ended = any(request.done for request in self._in_flight)
                most, unwilling, ended = self._most(len(self.live), not self.willing, ended)
                if not most:
                    break
                if ended:
                    self._do(self._settle)
                    self._refill()
                else:
                    sizes = {self.dim: most} | dict.fromkeys(self.guards, not unwilling)
                    self.live_rows[self.runner.bucket_for(**sizes)] += len(self.live)
                    self._do(self._round)
            self._do(self._settle)
            self._refill()
            (most,) = self._most(len(self.live))
        return most > 0

    def _round(self) -> None:
        if self.live or self.ranks is None:
            said = dict.fromkeys(self.guards, self.willing)
            self.runner.step(**{self.dim: len(self.live)}, **said)
        else:
            self.runner.idle()
        self._in_flight = list(self.live)

    def _refill(self) -> None:
        self._take_out()
        while True:
            mine = bool(self.waiting) and len(self.live) < self.slots
            (someone,) = self._most(mine)
            if not someone:
                return
            if mine:
                self._between(partial(self._put_in, self.waiting.pop()))
            else:
                self._between(self.split.pass_by)

    def _between(self, call: Callable[[], None]) -> None:
        """A call that exchanges rows with all ranks, between rounds. Raises RankError."""
        if self.runner.peers is None:
            call()
        else:
            self.runner.peers.between("a prompt", self.exchanges_over, call)

    def _most(self, *mine: int) -> list[int]:
        """The largest on any rank, of each. Raises RankError."""
        if self.runner.peers is None:
            return [int(one) for one in mine]
        return self.runner.peers.settle("what ranks agree on between rounds", *map(int, mine))


def group_of(schedule: Schedule) -> str:
    """The group that a schedule exchanges over. Raises BindError."""
    groups = {p.collective.group for p in schedule.phases if p.collective is not None}
    if len(groups) != 1:
        raise BindError(
            f"{schedule.source.name}: it exchanges over {len(groups)} groups; what is bound here has "
            "its experts on the ranks of one"
        )
    return schedule.groups[groups.pop()].name


def exchange_of(
    schedule: Schedule, model: TinyModel, group: str, ranks: Ranks | None
) -> Distributed:
    """Between the ranks of a group, or of one rank with itself. Raises BindError, ExchangeError."""
    link: Link = GroupLink(ranks.groups[group].device) if ranks else LoneLink()
    capacity = dict(schedule.widest.sizes)[dim_of(schedule)] * rows_of(schedule)
    shape = model.shape
    experts, choices = shape.routed_experts, shape.experts_per_token
    return Distributed(Sizes(link.ranks, link.rank, experts, choices, shape.hidden, capacity), link)
