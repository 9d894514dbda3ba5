"""Log probabilities as the model gives them: before temperature, top-k and top-p."""

from __future__ import annotations

import torch
from torch import Tensor

from plait.runtime.sampling.filtering import Ranked, grid, whole


def of_likeliest(ranks: Ranked, count: int) -> Tensor:
    """Of the so many likeliest tokens of each row, `[..., count]`; they are `ranks.tokens[..., :count]`."""
    return ranks.logits[..., :count] - _total(ranks)


def of_tokens(logits: Tensor, ranks: Ranked, tokens: Tensor) -> Tensor:
    """Of one token of each row, `[...]`; what is no token counts as the first."""
    return of_both(logits, ranks, tokens, 0).squeeze(-1)


def of_both(logits: Tensor, ranks: Ranked, tokens: Tensor, count: int) -> Tensor:
    """Of one token of each row, and behind it of the so many likeliest, `[..., 1 + count]`."""
    of = logits.gather(-1, tokens.clamp(min=0).unsqueeze(-1)).double() - ranks.largest
    return torch.cat([of, ranks.logits[..., :count]], -1) - _total(ranks)


def _total(ranks: Ranked) -> Tensor:
    vocab = ranks.logits.shape[-1]
    return torch.log(whole(ranks.logits).sum(-1, keepdim=True) / grid(vocab))
