"""What a forward needs to know about its positions, worked out before it and beside other work."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor


class Plan(NamedTuple):
    """For B requests of R rows and a cache of `span` positions."""

    positions: Tensor
    """`i64[B, R]`: where each row stands, and where its key goes."""
    rows: Tensor
    """`[B, R, rope + span]`: what the planner's table says of each position."""

    def cos(self, rope: int) -> Tensor:
        """`[B, R, rope / 2]`."""
        return self.rows[..., : rope // 2]

    def sin(self, rope: int) -> Tensor:
        """`[B, R, rope / 2]`."""
        return self.rows[..., rope // 2 : rope]

    def mask(self, rope: int) -> Tensor:
        """`[B, R, span]`: 0 where a row may look, minus infinity behind its own position."""
        return self.rows[..., rope:]

    def write(self, cache: Tensor, entry: Tensor) -> None:
        """Puts a key for each row, `[B, R, cached]`, into the first B slots of `[slots, span, cached]`."""
        index = self.positions.unsqueeze(-1).expand(-1, -1, cache.shape[-1])
        cache[: entry.shape[0]].scatter_(1, index, entry)

    def keys(self, cache: Tensor) -> Tensor:
        """The keys of each request, `[B, span, cached]`."""
        return cache[: self.positions.shape[0]]


class Planner:
    """Makes and fills plans for one model and one span: one line of a table for each position."""

    def __init__(self, cos: Tensor, sin: Tensor):
        """`cos` and `sin` are `[span, rope / 2]`."""
        self.span = cos.shape[0]
        behind = torch.ones(self.span, self.span, dtype=torch.bool).triu(1)
        mask = torch.zeros_like(behind, dtype=cos.dtype).masked_fill(behind, float("-inf"))
        self.table = torch.cat([cos, sin, mask], 1)

    def empty(self, batch: int, rows: int) -> Plan:
        """Room for a plan."""
        positions = torch.zeros(batch, rows, dtype=torch.int64)
        return Plan(positions, self.table.new_zeros(batch, rows, self.table.shape[1]))

    def of(self, positions: Tensor) -> Plan:
        """A plan of its own for `positions`, `i64[B, R]`, each below `span`."""
        rows = torch.index_select(self.table, 0, positions.reshape(-1))
        return Plan(positions, rows.view(*positions.shape, -1))

    def fill(self, plan: Plan, start: Tensor, along: Tensor) -> None:
        """Writes into `plan` the rows `start + along`, `i64[B, 1]` and `i64[R]`.

        Positions beyond the span are the last one: only work that is thrown away is there.
        """
        torch.add(start, along, out=plan.positions)
        plan.positions.clamp_(max=self.span - 1)
        index, rows = plan.positions.view(-1), plan.rows.view(-1, plan.rows.shape[-1])
        torch.index_select(self.table, 0, index, out=rows)
