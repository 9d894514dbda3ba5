"""The weights that a shape asks for: each one's name and size."""

from __future__ import annotations

from collections.abc import Iterator

from plait.runtime.models.small_llama.shape import Shape


def wanted(shape: Shape) -> Iterator[tuple[str, tuple[int, ...]]]:
    hidden, keys = shape.hidden, shape.key_heads * shape.head
    yield "embed", (shape.vocab, hidden)
    yield "head", (shape.vocab, hidden)
    yield "norm.weight", (hidden,)
    for number in range(shape.layers):
        layer = f"layers.{number}"
        yield f"{layer}.attention.norm.weight", (hidden,)
        yield f"{layer}.attention.query", (shape.heads * shape.head, hidden)
        yield f"{layer}.attention.key", (keys, hidden)
        yield f"{layer}.attention.value", (keys, hidden)
        yield f"{layer}.attention.out", (hidden, shape.heads * shape.head)
        yield f"{layer}.gated.norm.weight", (hidden,)
        yield f"{layer}.gated.up", (2 * shape.gated, hidden)
        yield f"{layer}.gated.down", (hidden, shape.gated)
