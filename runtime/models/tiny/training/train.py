"""What the tiny model learns: the target the next token, and NextN to agree with it.

NextN learns, from the target's hidden state, the target's own distribution one and two tokens further on:
agreement is what acceptance is made of.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor

from plait.runtime.models.tiny.shape import Shape
from plait.runtime.models.tiny.training.network import Network
from plait.runtime.models.training.descent import Progress, descend
from plait.runtime.models.training.plan import Plan

NEXTN_WEIGHTS = (0.3, 0.2)
"""Of the loss of each recursive NextN step, beside the target's own at 1."""
AHEAD = len(NEXTN_WEIGHTS) + 1


@dataclass(frozen=True)
class Report:
    loss: float
    """Nats a token of the target."""
    nextn_loss: tuple[float, ...]
    agreement: tuple[float, ...]
    """Share of positions where NextN step k and the target choose the same token, given true tokens."""


def train(shape: Shape, plan: Plan, tokens: Tensor, progress: Progress) -> Network:
    """`tokens` is the whole corpus as `i64[n]`. Sets torch's global seed."""
    return descend(
        partial(Network, shape),
        plan,
        tokens,
        ahead=AHEAD,
        losses_of=lambda network, batch: losses_and_agreement(network, batch)[0],
        weights=NEXTN_WEIGHTS,
        plain=lambda name: name == "embed" or name.endswith("router"),
        progress=progress,
    )


@torch.no_grad()
def evaluate(network: Network, tokens: Tensor, plan: Plan) -> Report:
    """Mean over windows of the held-out tokens."""
    losses, agreements = [], []
    for batch in plan.held_out(tokens, AHEAD):
        loss, agreement = losses_and_agreement(network, batch)
        losses.append(torch.stack(loss))
        agreements.append(torch.stack(agreement))
    loss = torch.stack(losses).mean(0).tolist()
    agreement = torch.stack(agreements).mean(0).tolist()
    return Report(loss[0], tuple(loss[1:]), tuple(agreement))


def losses_and_agreement(network: Network, batch: Tensor) -> tuple[list[Tensor], list[Tensor]]:
    """Losses of the target and of each NextN step; agreement of each NextN step with the target.

    `batch` is `i64[rows, length + steps + 1]`.
    """
    steps = len(NEXTN_WEIGHTS)
    length = batch.shape[1] - steps - 1
    vocab = network.shape.vocab
    hidden = network.hidden(batch[:, :length])
    logits = network.logits(hidden)
    losses = [F.cross_entropy(logits.reshape(-1, vocab), batch[:, 1 : length + 1].reshape(-1))]
    target = logits.detach()
    agreement = []
    for step in range(1, steps + 1):
        hidden = network.step(hidden, batch[:, step : length + step])
        logits = network.logits(hidden)[:, : length - step]
        wanted = target[:, step:]
        losses.append(
            F.cross_entropy(logits.reshape(-1, vocab), wanted.reshape(-1, vocab).softmax(-1))
        )
        agreement.append((logits.argmax(-1) == wanted.argmax(-1)).float().mean())
    return losses, agreement
