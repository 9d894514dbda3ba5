"""Plans over caches in pages: of each layer `[pages, size, cached]`, of each request a table of its pages."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import torch
from torch import Tensor

from plait.runtime.models.plan import Plan, Planner


class PagedPlan(NamedTuple):
    """For B requests of R rows and up to P pages each."""

    plan: Plan
    """Of the same rows, as if a request's pages lay one behind another."""
    pages: Tensor
    """`i64[B, P]`"""
    places: Tensor
    """`i64[B * R]`: where each row's key goes, counted over all pages."""

    @property
    def positions(self) -> Tensor:
        return self.plan.positions

    def cos(self, rope: int) -> Tensor:
        return self.plan.cos(rope)

    def sin(self, rope: int) -> Tensor:
        return self.plan.sin(rope)

    def mask(self, rope: int) -> Tensor:
        return self.plan.mask(rope)

    def write(self, cache: Tensor, entry: Tensor) -> None:
        """Two rows meet only in the page that is nobody's, where it does not matter which stays."""
        cache.flatten(0, 1).index_copy_(0, self.places, entry.flatten(0, 1))

    def keys(self, cache: Tensor) -> Tensor:
        batch, most = self.pages.shape
        found = torch.index_select(cache, 0, self.pages.reshape(-1))
        return found.view(batch, most * cache.shape[1], cache.shape[2])


AnyPlan: TypeAlias = Plan | PagedPlan


class PagedPlanner:
    """Makes and fills plans for pages of `size` positions, `most` of them a request."""

    def __init__(self, planner: Planner, size: int, most: int):
        self.planner = planner
        self.size = size
        self.most = most

    @property
    def span(self) -> int:
        return self.planner.span

    def empty(self, batch: int, rows: int) -> PagedPlan:
        """Room for a plan. Until it is filled each request has a page of its own, as rows are kept apart."""
        plan = self.planner.empty(batch, rows)
        pages = torch.arange(batch).unsqueeze(1).repeat(1, self.most)
        return PagedPlan(plan, pages, self.paged(plan, pages).places)

    def of(self, positions: Tensor, pages: Tensor) -> PagedPlan:
        """A plan of its own for `positions`, `i64[B, R]`, each below `span`."""
        return self.paged(self.planner.of(positions), pages)

    def paged(self, plan: Plan, pages: Tensor) -> PagedPlan:
        """A plan of requests that have these pages."""
        return PagedPlan(plan, pages, self.places(plan.positions, pages))

    def places(self, positions: Tensor, pages: Tensor) -> Tensor:
        """Of positions `i64[B, R]` where they lie, counted over all pages, `i64[B * R]`."""
        page = pages.gather(1, positions // self.size)
        return (page * self.size + positions % self.size).view(-1)

    def fill(self, plan: PagedPlan, start: Tensor, along: Tensor, pages: Tensor) -> None:
        """As `Planner.fill`."""
        self.planner.fill(plan.plan, start, along)
        plan.pages.copy_(pages)
        plan.places.copy_(self.places(plan.plan.positions, pages))
