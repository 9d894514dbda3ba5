"""The weights that a shape asks for: each one's name and size."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from plait.runtime.models.tiny.shape import Shape


def wanted(shape: Shape) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Of every weight of the target and of NextN, its name and sizes."""
    hidden = shape.hidden
    yield "embed", (shape.vocab, hidden)
    yield "norm.weight", (hidden,)
    yield "nextn.hidden_norm.weight", (hidden,)
    yield "nextn.token_norm.weight", (hidden,)
    yield "nextn.project", (hidden, 2 * hidden)
    for layer in chain(["nextn.layer"], (f"layers.{number}" for number in range(shape.layers))):
        for name, sizes in _layer(shape).items():
            yield f"{layer}.{name}", sizes


def _layer(shape: Shape) -> dict[str, tuple[int, ...]]:
    experts = shape.routed_experts + 1  # the shared one lies beside them
    return {
        "attention.norm.weight": (shape.hidden,),
        "attention.query_down": (shape.query_rank, shape.hidden),
        "attention.query_norm.weight": (shape.query_rank,),
        "attention.query_up": (shape.heads * shape.query_head, shape.query_rank),
        "attention.latent_down": (shape.cached, shape.hidden),
        "attention.latent_norm.weight": (shape.latent,),
        "attention.key_up": (shape.heads * shape.nope, shape.latent),
        "attention.value_up": (shape.heads * shape.value, shape.latent),
        "attention.out": (shape.hidden, shape.heads * shape.value),
        "experts.norm.weight": (shape.hidden,),
        "experts.router": (shape.routed_experts, shape.hidden),
        "experts.balance": (shape.routed_experts,),
        "experts.up": (experts, 2 * shape.expert_hidden, shape.hidden),
        "experts.down": (experts, shape.hidden, shape.expert_hidden),
    }
