"""The caches of the tiny model in pages, and running a prompt into them.

Target and NextN have the same pages. What NextN holds at a position depends on the token behind it, so a
page is found again by one token more than it has.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from plait.runtime.cache.pages import Pages
from plait.runtime.cache.prefixes import Prefixes
from plait.runtime.cache.rows import Rows
from plait.runtime.eagle.paged_rows import PagedRows
from plait.runtime.models.paged import PagedPlan, PagedPlanner
from plait.runtime.models.tiny.model import TinyModel


class Memory:
    """`count` pages of `size` positions, page 0 included, up to `most` a request, which writes `ahead`."""

    def __init__(self, model: TinyModel, count: int, size: int, most: int, ahead: int):
        self.model = model
        self.planner = PagedPlanner(model.planner(size * most), size, most)
        self.target_cache = model.target_cache(count, size)
        self.nextn_cache = model.nextn_cache(count, size)
        self.rows = Rows(Prefixes(Pages(count), size, ahead=1), most)
        self.requests = PagedRows(self.rows, ahead)

    def target(self, row: int, tokens: Sequence[int], start: int, end: int) -> Tensor:
        """The target over a row's tokens from `start` up to `end`: its states, `[end - start, hidden]`."""
        given = torch.tensor([tokens[start:end]])
        return self.model.target(given, self._plan(row, start, end), self.target_cache)[0]

    def nextn(self, row: int, states: Tensor, following: Sequence[int], start: int) -> Tensor:
        """NextN over states of the target from `start` on, and the token behind each: as many states."""
        plan = self._plan(row, start, start + len(following))
        given = torch.tensor([following])
        return self.model.nextn(states.unsqueeze(0), given, plan, self.nextn_cache)[0]

    def _plan(self, row: int, start: int, end: int) -> PagedPlan:
        positions = torch.arange(start, end).unsqueeze(0)
        return self.planner.of(positions, torch.tensor([self.rows.table(row)]))
