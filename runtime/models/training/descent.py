"""Training by steps: the same machine, thread count and corpus give the same bytes."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TypeVar

import torch
from torch import Tensor, nn

from plait.runtime.models.training.muon import Muon
from plait.runtime.models.training.plan import Plan

EMBEDDING_RATE = 4e-3
MATRIX_RATE = 5 * EMBEDDING_RATE

Network = TypeVar("Network", bound=nn.Module)
Progress = Callable[[int, list[float], float], None]
"""Is told a step, its losses, and the seconds since the first began."""


def descend(
    made: Callable[[], Network],
    plan: Plan,
    tokens: Tensor,
    *,
    ahead: int,
    losses_of: Callable[[Network, Tensor], list[Tensor]],
    weights: Sequence[float] = (),
    plain: Callable[[str], bool],
    progress: Progress,
) -> Network:
    """`tokens` is the whole corpus as `i64[n]`. Sets torch's global seed.

    `losses_of` a batch, with `ahead` tokens behind each sequence: the first, and others that count as
    `weights` say. What has a `plain` name is learned like a vector, though it may be a matrix.
    """
    torch.manual_seed(plan.seed)
    torch.use_deterministic_algorithms(True)
    network = made()
    matrices, rest = [], []
    for name, parameter in network.named_parameters():
        (matrices if parameter.ndim >= 2 and not plain(name) else rest).append(parameter)
    adam = torch.optim.AdamW(rest, lr=EMBEDDING_RATE, betas=(0.9, 0.95), weight_decay=0.0)
    muon = Muon(matrices)
    windows = torch.Generator().manual_seed(plan.seed)
    began = time.perf_counter()
    for step in range(plan.steps):
        losses = losses_of(network, plan.batch_of(tokens, ahead, windows))
        loss = losses[0] + sum(w * part for w, part in zip(weights, losses[1:], strict=True))
        for parameter in network.parameters():
            parameter.grad = None
        loss.backward()
        torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        rate = plan.rate(step)
        for group in adam.param_groups:
            group["lr"] = EMBEDDING_RATE * rate
        adam.step()
        muon.step(MATRIX_RATE * rate)
        progress(step, [part.item() for part in losses], time.perf_counter() - began)
    return network.eval()
