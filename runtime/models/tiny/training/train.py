"""Training by steps: the same machine, thread count and corpus give the same bytes.

The target learns the next token. NextN learns, from the target's hidden state, to agree with the
target's own distribution one and two tokens further on: agreement is what acceptance is made of.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from plait.runtime.models.tiny.shape import Shape
from plait.runtime.models.tiny.training.muon import Muon
from plait.runtime.models.tiny.training.network import Network

EMBEDDING_RATE = 4e-3
MATRIX_RATE = 5 * EMBEDDING_RATE
LAST_RATE = 0.02
"""Of the peak, reached by a half cosine on the last step."""
NEXTN_WEIGHTS = (0.3, 0.2)
"""Of the loss of each recursive NextN step, beside the target's own at 1."""


@dataclass(frozen=True)
class Plan:
    steps: int
    batch: int = 4
    length: int = 512
    """Tokens of one sequence."""
    warm_up: int = 50
    seed: int = 1234

    def rate(self, step: int) -> float:
        """Share of the peak learning rate at a step."""
        cosine = 0.5 * (1 + math.cos(math.pi * step / self.steps))
        return min(1.0, (step + 1) / self.warm_up) * (LAST_RATE + (1 - LAST_RATE) * cosine)

    def as_dict(self) -> dict[str, int]:
        return asdict(self)


@dataclass(frozen=True)
class Report:
    loss: float
    """Nats a token of the target."""
    nextn_loss: tuple[float, ...]
    agreement: tuple[float, ...]
    """Share of positions where NextN step k and the target choose the same token, given true tokens."""


def train(
    shape: Shape,
    plan: Plan,
    tokens: Tensor,
    progress: Callable[[int, list[float], float], None] = lambda step, losses, seconds: None,
) -> Network:
    """`tokens` is the whole corpus as `i64[n]`. Sets torch's global seed."""
    torch.manual_seed(plan.seed)
    torch.use_deterministic_algorithms(True)
    network = Network(shape)
    matrices = [p for name, p in network.named_parameters() if _is_matrix(name, p)]
    rest = [p for name, p in network.named_parameters() if not _is_matrix(name, p)]
    adam = torch.optim.AdamW(rest, lr=EMBEDDING_RATE, betas=(0.9, 0.95), weight_decay=0.0)
    muon = Muon(matrices)
    windows = torch.Generator().manual_seed(plan.seed)
    began = time.perf_counter()
    for step in range(plan.steps):
        batch = _windows(tokens, plan.batch, plan.length, windows)
        losses, _ = losses_and_agreement(network, batch)
        loss = losses[0] + sum(w * part for w, part in zip(NEXTN_WEIGHTS, losses[1:], strict=True))
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


@torch.no_grad()
def evaluate(network: Network, tokens: Tensor, plan: Plan, count: int = 48) -> Report:
    """Mean over `count` windows of the held-out tokens, always the same ones."""
    windows = torch.Generator().manual_seed(99)
    losses, agreements = [], []
    for _ in range(0, count, plan.batch):
        batch = _windows(tokens, plan.batch, plan.length, windows)
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


def _is_matrix(name: str, parameter: Tensor) -> bool:
    return parameter.ndim >= 2 and name != "embed" and not name.endswith("router")


def _windows(tokens: Tensor, count: int, length: int, generator: torch.Generator) -> Tensor:
    width = length + len(NEXTN_WEIGHTS) + 1
    start = torch.randint(0, len(tokens) - width + 1, (count, 1), generator=generator)
    return tokens[start + torch.arange(width)]
