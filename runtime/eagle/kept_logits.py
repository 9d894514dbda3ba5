"""Logits of the tokens that rounds commit, kept beside them until the tokens are taken."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import torch
from torch import Tensor

ByRequest = Callable[[Tensor, Mapping[str, Tensor]], Tensor]
"""Of what `accept` is given, the logits of tokens that may be committed, `[B, D, vocab]`, in their order."""


class KeptLogits:
    """Around a round's `accept`, whose body it is in its place."""

    def __init__(self, accept: Callable[..., object], by_request: ByRequest, dtype: torch.dtype):
        self._accept = accept
        self._by_request = by_request
        self._dtype = dtype
        self._kept: dict[int, Tensor] = {}
        """By round."""
        self._round = 0
        """The one that accepts next."""

    def accept(self, logits: Tensor, **others: Tensor) -> None:
        self._accept(logits=logits, **others)
        rows = self._by_request(logits, others)
        self._kept[self._round] = rows.to(self._dtype, copy=True)
        self._round += 1

    def take(self, round: int) -> Tensor | None:
        """Those of a round; None: they were taken, or it has kept none."""
        return self._kept.pop(round, None)

    def start_again(self, round: int) -> None:
        """With this one: what came before it has failed."""
        self._kept.clear()
        self._round = round
