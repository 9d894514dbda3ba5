"""Plans of rows that are nodes of a tree: each stands at its depth, and sees its ancestors alone.

Rows of a request lie in the cache one behind another, whatever their depth; so of a window of the cache
each row is told what it sees, and before the window it sees all.
"""

from __future__ import annotations

import torch
from torch import Tensor

from plait.runtime.models.paged import PagedPlan, PagedPlanner
from plait.runtime.models.plan import Plan


def plan_of(
    paged: PagedPlanner,
    rope: int,
    start: Tensor,
    first: int,
    depths: Tensor | int,
    seen: Tensor,
    pages: Tensor,
) -> PagedPlan:
    """A plan of R rows a request, whose window of the cache begins at `start`, `i64[B, 1]`.

    The rows lie at `first` and behind it in the window and stand at `start + depths`, `i64[B, R]` or one
    for all; `seen`, `bool[B, R, W]`, is what they see of it. Places beyond the span are the last one:
    only work that is thrown away is there.
    """
    batch, rows, width = seen.shape
    last, table = paged.span - 1, paged.planner.table
    stands = (start + depths).clamp(max=last).expand(batch, rows)
    turned = torch.index_select(table[:, :rope], 0, stands.reshape(-1)).view(batch, rows, rope)
    before = torch.index_select(table[:, rope:], 0, (start[:, 0] - 1).clamp(0, last))
    window = (start + torch.arange(width)).clamp(max=last)
    hidden = torch.zeros_like(seen, dtype=table.dtype).masked_fill(~seen, float("-inf"))
    mask = before.unsqueeze(1).repeat(1, rows, 1)
    mask.scatter_(2, window.unsqueeze(1).expand(batch, rows, width), hidden)
    plan = Plan(window[:, first : first + rows], torch.cat([turned, mask], 2))
    return paged.paged(plan, pages)


def fill(plan: PagedPlan, made: PagedPlan) -> None:
    """Writes one plan into another of its sizes."""
    plan.plan.positions.copy_(made.plan.positions)
    plan.plan.rows.copy_(made.plan.rows)
    plan.pages.copy_(made.pages)
    plan.places.copy_(made.places)
