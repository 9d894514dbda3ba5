"""What a round has accepted of the drafted tokens, and the one behind them."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

NOT_ACCEPTED = -1
"""Stands behind the last accepted token, and behind the last node of a path."""


class Accepted(NamedTuple):
    tokens: Tensor
    """`[requests, rows]`: those accepted, and last the one that was not drafted."""
    path: Tensor
    """`[requests, rows]`: the nodes whose rows were gone through, the root first; as many as tokens."""
    length: Tensor
    """`[requests]`: of tokens, at least 1."""
    last: Tensor
    """`[requests]`: the last token."""

    def commit(self, seq_lens: Tensor, accepted: Tensor, bonus: Tensor) -> None:
        """Into the buffers that a round carries."""
        accepted.copy_(self.tokens)
        bonus.copy_(self.last)
        seq_lens.add_(self.length)


def along(passed: Tensor, tokens: Tensor, last: Tensor) -> Accepted:
    """Of the nodes that were passed, a mask in which the root is, what they give.

    A node stands behind its parent, so the order of their numbers is that of the path.
    """
    rows = tokens.shape[1]
    place = torch.arange(rows, device=tokens.device)
    path = torch.sort(torch.where(passed, place, rows), dim=1).values
    count = passed.sum(1)
    ahead = torch.cat([path[:, 1:], path.new_full((len(path), 1), rows)], 1)
    found = tokens.gather(1, ahead.clamp(max=rows - 1))
    end = count.unsqueeze(1) - 1
    found = torch.where(place == end, last.unsqueeze(1), found)
    behind = place > end
    return Accepted(
        found.masked_fill(behind, NOT_ACCEPTED), path.masked_fill(behind, NOT_ACCEPTED), count, last
    )
