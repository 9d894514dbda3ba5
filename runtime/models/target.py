"""What decoding asks of a model that verifies: the tiny model and the small Llama both have it."""

from __future__ import annotations

from typing import Protocol

import torch
from torch import Tensor

from plait.runtime.models.paged import AnyPlan
from plait.runtime.models.plan import Planner


class Sizes(Protocol):
    @property
    def vocab(self) -> int: ...

    @property
    def hidden(self) -> int: ...

    @property
    def layers(self) -> int: ...

    @property
    def context(self) -> int: ...

    @property
    def cached(self) -> int: ...

    @property
    def bos(self) -> int: ...


class Target(Protocol):
    @property
    def shape(self) -> Sizes: ...

    @property
    def dtype(self) -> torch.dtype: ...

    def planner(self, span: int) -> Planner:
        """For caches of `span` positions."""
        ...

    def target_cache(self, slots: int, span: int) -> list[Tensor]:
        """Of every layer a cache `[slots, span, cached]`; or of pages, `[pages, size, cached]`."""
        ...

    def target(self, tokens: Tensor, plan: AnyPlan, cache: list[Tensor]) -> Tensor:
        """Tokens `i64[B, R]` to hidden states `[B, R, hidden]`; updates the caches."""
        ...

    def logits(self, hidden: Tensor) -> Tensor:
        """Hidden states `[..., hidden]` to logits `[..., vocab]`."""
        ...
