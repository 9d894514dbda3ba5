"""What a prompt asks of sampling, as rounds carry it, and the first token that comes of it."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from plait.runtime.engine.prompt import Prompt
from plait.runtime.sampling.bodies import draft
from plait.runtime.sampling.counter import TARGET
from plait.runtime.sampling.filtering import ranked
from plait.runtime.sampling.logprobs import of_likeliest


def sampling_of(prompt: Prompt) -> dict[str, Tensor]:
    """By carried buffer."""
    sampling = prompt.sampling
    return {
        "temperature": torch.tensor(sampling.temperature, dtype=torch.float32),
        "top_k": torch.tensor(sampling.top_k),
        "top_p": torch.tensor(sampling.top_p, dtype=torch.float32),
        "seed": torch.tensor(sampling.seed),
    }


def first_token(logits: Tensor, position: int, sampling: Mapping[str, Tensor]) -> int:
    """The token at a position, as a round would choose it, whose logits are in a buffer of f32."""
    asked = {name: value.view(1) for name, value in sampling.items()}
    return int(draft(logits.float().unsqueeze(0), torch.tensor([position]), **asked, draw=TARGET))


def logprobs_of(logits: Tensor) -> Tensor:
    """`[vocab]`, as a round would give them, whose buffers are of f32."""
    ranks = ranked(logits.float())
    found = of_likeliest(ranks, logits.shape[-1]).float()
    return torch.empty_like(found).scatter_(-1, ranks.tokens, found)
