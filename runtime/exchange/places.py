"""Where rows lie in a message of fixed capacity, and how they are found again.

A message has `capacity` places for every expert, in the order of experts, so what goes to one rank lies
together. A last column says which places are taken. No shape depends on data, so graphs can hold this.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from plait.runtime.exchange.sizes import Sizes


class Handle(NamedTuple):
    """For the way back."""

    place: Tensor
    """`i64[T * choices]`: where each choice of each row lies in the message; behind its end: nowhere."""
    packed: Tensor
    """`i64[ranks * local * capacity]`: where each place of what arrived lies among the received rows."""


def packed_message(rows: Tensor, ids: Tensor, sizes: Sizes, capacity: int) -> tuple[Tensor, Tensor]:
    """The message `[experts * capacity, hidden + 1]`, and the place of each choice of each row."""
    taken = (ids.unsqueeze(-1) == torch.arange(sizes.experts, device=ids.device)).any(1)
    before = taken.cumsum(0) - 1
    chosen = ids.clamp(min=0)
    nowhere = sizes.experts * capacity
    place = torch.where(ids >= 0, chosen * capacity + before.gather(1, chosen), nowhere).reshape(-1)
    message = rows.new_zeros(nowhere + 1, sizes.hidden + 1)
    marked = torch.cat([rows, rows.new_ones(rows.shape[0], 1)], 1)
    wide = marked.unsqueeze(1).expand(-1, ids.shape[1], -1).reshape(-1, sizes.hidden + 1)
    message.index_copy_(0, place, wide)
    return message[:nowhere], place


def unpacked_message(message: Tensor, sizes: Sizes, capacity: int) -> tuple[Tensor, Tensor, Tensor]:
    """Of what arrived: rows `[local, ranks * capacity, hidden]`, each expert's live ones first, their
    numbers, and where each place went."""
    per_expert = sizes.ranks * capacity
    by_rank = message.view(sizes.ranks, sizes.local, capacity, -1)
    by_expert = by_rank.transpose(0, 1).reshape(sizes.local, per_expert, -1)
    live = by_expert[..., -1] > 0
    first = (torch.arange(sizes.local, device=message.device) * per_expert).unsqueeze(1)
    nowhere = sizes.local * per_expert
    packed = torch.where(live, first + live.cumsum(1) - 1, nowhere).reshape(-1)
    rows = message.new_zeros(nowhere + 1, sizes.hidden)
    rows.index_copy_(0, packed, by_expert.reshape(-1, sizes.hidden + 1)[:, :-1])
    counts = live.sum(1).to(torch.int32)
    return rows[:nowhere].view(sizes.local, per_expert, -1), counts, packed


def answer(rows: Tensor, packed: Tensor, sizes: Sizes, capacity: int) -> Tensor:
    """Rows as `unpacked_message` gave them, at the places where they arrived."""
    found = _with_nothing(rows.reshape(-1, sizes.hidden))[packed]
    by_expert = found.view(sizes.local, sizes.ranks, capacity, sizes.hidden)
    return by_expert.transpose(0, 1).reshape(-1, sizes.hidden)


def summed(answered: Tensor, place: Tensor, weights: Tensor) -> Tensor:
    """The rows that came back, each row's choices by its weights, in the wider type of both."""
    found = _with_nothing(answered)[place].view(*weights.shape, answered.shape[1])
    return (found * weights.unsqueeze(-1)).sum(1)


def _with_nothing(rows: Tensor) -> Tensor:
    """A row of zeros behind them, for what lies nowhere."""
    return torch.cat([rows, rows.new_zeros(1, rows.shape[1])])
