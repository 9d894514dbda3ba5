"""What the small Llama learns: the next token."""

from __future__ import annotations

from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor

from plait.runtime.models.small_llama.shape import Shape
from plait.runtime.models.small_llama.training.network import Network
from plait.runtime.models.training.descent import Progress, descend
from plait.runtime.models.training.plan import Plan


def train(shape: Shape, plan: Plan, tokens: Tensor, progress: Progress) -> Network:
    """`tokens` is the whole corpus as `i64[n]`. Sets torch's global seed."""
    return descend(
        partial(Network, shape),
        plan,
        tokens,
        ahead=1,
        losses_of=lambda network, batch: [loss_of(network, batch)],
        plain=lambda name: name in ("embed", "head"),
        progress=progress,
    )


@torch.no_grad()
def evaluate(network: Network, tokens: Tensor, plan: Plan) -> float:
    """Nats a token, over windows of the held-out tokens."""
    losses = [loss_of(network, batch) for batch in plan.held_out(tokens, 1)]
    return torch.stack(losses).mean().item()


def loss_of(network: Network, batch: Tensor) -> Tensor:
    """`batch` is `i64[rows, length + 1]`."""
    return F.cross_entropy(network(batch[:, :-1]).flatten(0, 1), batch[:, 1:].flatten())
