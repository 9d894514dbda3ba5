"""Which tokens may be chosen at all: temperature, then top-k, then top-p.

Tokens are ranked by their logits, of equal ones the lower id first. top-k keeps so many of them; top-p
keeps, of what top-k left, each one before which less than that share lies. The likeliest token is always
kept. Temperature 0 is top-k of 1: exactly `argmax`.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor


class Ranked(NamedTuple):
    """Logits `[requests, ..., vocab]` in order, the largest first."""

    logits: Tensor
    """As doubles, less the largest."""
    tokens: Tensor
    largest: Tensor
    """`[requests, ..., 1]`"""


def ranked(logits: Tensor) -> Ranked:
    found = torch.sort(logits.double(), dim=-1, descending=True, stable=True)
    largest = found.values[..., :1]
    return Ranked(found.values - largest, found.indices, largest)


def kept(ranks: Ranked, temperature: Tensor, top_k: Tensor, top_p: Tensor) -> Tensor:
    """Weights `[requests, ..., vocab]` by token, whole numbers; 0: it may not be chosen.

    The others have one value a request.
    """
    of_request = (-1, *[1] * (ranks.logits.dim() - 1))
    vocab = ranks.logits.shape[-1]
    greedy = temperature <= 0
    heat = torch.where(greedy, 1.0, temperature.double()).view(of_request)
    count = torch.where(top_k > 0, top_k, vocab).masked_fill(greedy, 1).view(of_request)
    place = torch.arange(vocab, device=ranks.logits.device)
    weight = whole(ranks.logits / heat).masked_fill(place >= count, 0.0)
    total = weight.cumsum(-1)
    before = total - weight
    behind = before >= total[..., -1:] * top_p.double().view(of_request)
    found = weight.masked_fill(behind & (place > 0), 0.0)
    return torch.empty_like(found).scatter_(-1, ranks.tokens, found)


def whole(scaled: Tensor) -> Tensor:
    """Weights of log weights up to 0, on a grid on which every sum of a vocabulary is exact.

    So it does not matter in which order a device adds them.
    """
    return torch.floor(torch.exp(scaled) * grid(scaled.shape[-1]))


def grid(vocab: int) -> float:
    """The weight of a likeliest token."""
    return 2.0 ** (52 - (vocab - 1).bit_length())
