"""The normal form on one rank: rows arrive once, with their choices, and come back where they were."""

from __future__ import annotations

import torch

from plait.runtime.exchange.distributed import Distributed
from plait.runtime.exchange.link import LoneLink
from plait.runtime.exchange.sizes import Sizes


def test_there_and_back() -> None:
    """Without rows that choose nobody, which stay, and come back as zeros."""
    exchange = Distributed(Sizes(1, 0, experts=4, choices=2, hidden=3, capacity=1), LoneLink())
    rows = torch.arange(12.0).view(4, 3)
    ids = torch.tensor([[0, 3], [-1, -1], [3, -1], [1, 0]])
    weights = torch.tensor([[0.5, 0.5], [0.0, 0.0], [2.0, 0.0], [1.0, 1.0]])
    found = exchange.dispatch(rows, ids, weights)
    assert found.counts == [2, 1, 0, 2]
    assert found.rows.tolist() == rows[[0, 2, 3]].tolist()
    assert found.ids is not None and found.ids.tolist() == [[0, 3], [3, -1], [1, 0]]
    assert found.weights is not None
    back = exchange.combine(found.rows * found.weights.sum(1, keepdim=True), found.handle)
    assert back.tolist() == (rows * weights.sum(1, keepdim=True)).tolist()


def test_nothing_to_send() -> None:
    """A rank without rows takes part."""
    exchange = Distributed(Sizes(1, 0, experts=4, choices=2, hidden=3, capacity=1), LoneLink())
    found = exchange.dispatch(
        torch.zeros(0, 3), torch.zeros(0, 2, dtype=torch.int64), torch.zeros(0, 2)
    )
    assert exchange.combine(found.rows, found.handle).shape == (0, 3)
