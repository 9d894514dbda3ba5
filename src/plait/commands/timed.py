"""A spec with what was asked of its time: the bucket, what is live, the costs."""

from __future__ import annotations

from argparse import Namespace
from functools import cached_property

from plait.commands.costs import (
    accepted_asked,
    bucket_asked,
    live_asked,
    profile_asked,
    requests_asked,
)
from plait.compiler.compile import Asked, Proven, lowered, prove
from plait.compiler.measures.account import Account
from plait.compiler.measures.balance import Balance, balances
from plait.compiler.measures.window import window
from plait.compiler.order import Order
from plait.compiler.timing.accepted import Accepted
from plait.compiler.timing.engine import Stuck
from plait.dsl.span import Source
from plait.exit import Refused


class Timed:
    def __init__(self, proven: Proven, asked: Asked, options: Namespace):
        self.proven = proven
        self.options = options
        self.schedule = lowered(proven, asked)
        self.bucket = bucket_asked(options, self.schedule)
        self.requests = requests_asked(options)
        self.accepted: Accepted | None = accepted_asked(options)

    @property
    def order(self) -> Order:
        """Of the route at the bucket."""
        return self.proven.orders[self.bucket]

    @property
    def live(self) -> dict[str, int]:
        """Of every dim, how much is live; of one that nobody named, all of the bucket."""
        asked = live_asked(self.options)
        return {dim: asked.get(dim, size) for dim, size in self.order.round.sizes.items()}

    @cached_property
    def account(self) -> Account | None:
        """None where nothing says what anything costs. Raises Refused."""
        profile = profile_asked(self.options, self.schedule)
        try:
            found = window(self.schedule, profile, self.bucket)
        except Stuck:
            raise Refused(f"{self.schedule.source.name}: a round waits in a circle") from None
        if not any(span.end for span in found.spans):
            return None
        return Account(found, self.order, self._streams)

    @property
    def _streams(self) -> int:
        """That the target has: in its pool, and in the budget of all that runs on a device."""
        streams = self.proven.target.streams
        return streams.pool if streams.budget is None else min(streams.pool, streams.budget)

    def certain(self) -> Account:
        """Raises Refused where nothing says what anything costs."""
        if self.account is None:
            name = self.schedule.target.name
            raise Refused(f"no costs are known for {name}: give a profile with --costs FILE")
        return self.account

    @property
    def balances(self) -> list[Balance]:
        """Of every graph of the round."""
        rounds = [one.round for one in self.proven.orders]
        return balances(self.certain().found, rounds, self.proven.target, self.live)


def timed(source: Source, asked: Asked, options: Namespace) -> Timed:
    """Raises SpecError, TargetError, Refused."""
    return Timed(prove(source, asked), asked, options)
