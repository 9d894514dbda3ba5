"""Training by steps: the same machine, thread count and corpus give the same bytes."""

from __future__ import annotations

import time
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from plait.runtime.models.small_llama.shape import Shape
from plait.runtime.models.small_llama.training.network import Network
from plait.runtime.models.tiny.training.muon import Muon
from plait.runtime.models.tiny.training.train import EMBEDDING_RATE, MATRIX_RATE, Plan


def train(
    shape: Shape,
    plan: Plan,
    tokens: Tensor,
    progress: Callable[[int, float, float], None] = lambda step, loss, seconds: None,
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
        loss = loss_of(network, _windows(tokens, plan, windows))
        for parameter in network.parameters():
            parameter.grad = None
        loss.backward()
        torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        rate = plan.rate(step)
        for group in adam.param_groups:
            group["lr"] = EMBEDDING_RATE * rate
        adam.step()
        muon.step(MATRIX_RATE * rate)
        progress(step, loss.item(), time.perf_counter() - began)
    return network.eval()


@torch.no_grad()
def evaluate(network: Network, tokens: Tensor, plan: Plan, count: int = 48) -> float:
    """Nats a token, over `count` windows of the held-out tokens, always the same ones."""
    windows = torch.Generator().manual_seed(99)
    batches = [_windows(tokens, plan, windows) for _ in range(0, count, plan.batch)]
    return torch.stack([loss_of(network, batch) for batch in batches]).mean().item()


def loss_of(network: Network, batch: Tensor) -> Tensor:
    """`batch` is `i64[rows, length + 1]`."""
    return F.cross_entropy(network(batch[:, :-1]).flatten(0, 1), batch[:, 1:].flatten())


def _is_matrix(name: str, parameter: Tensor) -> bool:
    return parameter.ndim >= 2 and name not in ("embed", "head")


def _windows(tokens: Tensor, plan: Plan, generator: torch.Generator) -> Tensor:
    start = torch.randint(0, len(tokens) - plan.length, (plan.batch, 1), generator=generator)
    return tokens[start + torch.arange(plan.length + 1)]
