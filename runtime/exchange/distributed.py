"""An exchange over torch.distributed, which runs wherever that does: a message of fixed capacity, or one
whose sizes are exchanged first."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from plait.runtime.exchange.base import Gathered, Received
from plait.runtime.exchange.flavours import DISTRIBUTED
from plait.runtime.exchange.flight import Flight, Flights
from plait.runtime.exchange.link import Link, carry
from plait.runtime.exchange.places import (
    Handle,
    answer,
    packed_message,
    summed,
    unpacked_message,
)
from plait.runtime.exchange.sizes import ExchangeError, Sizes


class Ways(NamedTuple):
    """Of a normal exchange: what went where, for the way back."""

    sent: Tensor
    """`i64[rows sent]`: of which row each one was."""
    leaving: list[int]
    arriving: list[int]
    rows: int


class Distributed:
    """One group of ranks. Its operations are in one order on every rank."""

    flavour = DISTRIBUTED

    def __init__(self, sizes: Sizes, link: Link):
        if (sizes.ranks, sizes.rank) != (link.ranks, link.rank):
            raise ExchangeError(
                f"rank {sizes.rank} of {sizes.ranks} is asked for, and the link is rank {link.rank} of "
                f"{link.ranks}"
            )
        self.sizes = sizes
        self.link = link
        self.name = f"{self.flavour.name} over {link.name}"
        self.flights = Flights(self.name, self.flavour.in_flight)

    # Low latency

    def send(self, rows: Tensor, ids: Tensor, capacity: int | None = None) -> Flight[Received]:
        capacity = self.sizes.capacity_for(rows.shape[0], capacity, self.name)
        message, place = packed_message(rows, ids, self.sizes, capacity)
        into = torch.empty_like(message)
        return self._start("dispatch", into, message, lambda: self._received(into, place, capacity))

    def send_back(
        self, rows: Tensor, ids: Tensor, weights: Tensor, handle: Handle
    ) -> Flight[Tensor]:
        message = answer(rows, handle.packed, self.sizes, self._held(handle))
        into = torch.empty_like(message)
        return self._start("combine", into, message, lambda: summed(into, handle.place, weights))

    def exchange(self, rows: Tensor, ids: Tensor, capacity: int | None = None) -> Received:
        capacity = self.sizes.capacity_for(rows.shape[0], capacity, self.name)
        message, place = packed_message(rows, ids, self.sizes, capacity)
        return self._received(carry(self.link, message), place, capacity)

    def exchange_back(self, rows: Tensor, ids: Tensor, weights: Tensor, handle: Handle) -> Tensor:
        message = answer(rows, handle.packed, self.sizes, self._held(handle))
        return summed(carry(self.link, message), handle.place, weights)

    # Normal

    def dispatch(self, rows: Tensor, ids: Tensor, weights: Tensor) -> Gathered:
        s = self.sizes
        rank_of = torch.where(ids >= 0, ids.div(s.local, rounding_mode="floor"), -1)
        goes = (rank_of.unsqueeze(-1) == torch.arange(s.ranks, device=ids.device)).any(1)
        sent = goes.t().nonzero()[:, 1]
        leaving = goes.sum(0)
        arriving = torch.empty_like(leaving)
        self.link.start(arriving, leaving)()
        ways = Ways(sent, leaving.tolist(), arriving.tolist(), rows.shape[0])
        arrived = self._carried(rows[sent], ways.arriving, ways.leaving)
        their_ids = self._carried(ids[sent], ways.arriving, ways.leaving) - s.own.start
        own = (their_ids >= 0) & (their_ids < s.local)
        their_weights = self._carried(weights[sent], ways.arriving, ways.leaving)
        their_ids = their_ids.where(own, -1)
        counts = [int((their_ids == expert).sum()) for expert in range(s.local)]
        return Gathered(arrived, counts, their_ids, their_weights.where(own, 0), ways)

    def combine(self, rows: Tensor, handle: Ways) -> Tensor:
        back = self._carried(rows, handle.leaving, handle.arriving)
        return back.new_zeros(handle.rows, back.shape[1]).index_add_(0, handle.sent, back)

    def close(self) -> None:
        """The group is whose it was before."""

    def _start(self, what: str, into: Tensor, message: Tensor, finish) -> Flight:
        waits: list = []
        flight = self.flights.add(what, lambda: (waits[0](), finish())[1])
        waits.append(self.link.start(into, message))
        return flight

    def _received(self, message: Tensor, place: Tensor, capacity: int) -> Received:
        rows, counts, packed = unpacked_message(message, self.sizes, capacity)
        return Received(rows, counts, Handle(place, packed))

    def _carried(self, rows: Tensor, arriving: list[int], leaving: list[int]) -> Tensor:
        into = rows.new_empty(sum(arriving), rows.shape[1])
        self.link.start(into, rows.contiguous(), (arriving, leaving))()
        return into

    def _held(self, handle: Handle) -> int:
        """The capacity that a dispatch had."""
        return handle.packed.shape[0] // (self.sizes.local * self.sizes.ranks)
