"""The sizes of the tiny model: what training builds and inference reads back."""

from __future__ import annotations

from dataclasses import dataclass

from plait.runtime.models.sizes import Sizes


@dataclass(frozen=True)
class Shape(Sizes):
    """Sizes in elements, of which none is written twice."""

    vocab: int = 1024
    hidden: int = 128
    layers: int = 8
    heads: int = 4
    nope: int = 24
    """Per head: the part of query and key without a position."""
    rope: int = 8
    """Per head: the part of query that is rotated; all heads share one rotated key."""
    value: int = 32
    query_rank: int = 64
    latent: int = 48
    """Width of the compressed key and value; the cache keeps `latent + rope` numbers a token."""
    expert_hidden: int = 40
    routed_experts: int = 8
    experts_per_token: int = 2
    context: int = 512
    """Longest sequence seen in training, in tokens, and the most that inference accepts."""

    def check(self) -> None:
        if self.rope % 2:
            raise ValueError(f"rope is {self.rope}; it is even, for pairs are rotated")
        if self.experts_per_token > self.routed_experts:
            raise ValueError(
                f"experts_per_token is {self.experts_per_token}, of {self.routed_experts} experts"
            )

    @property
    def bos(self) -> int:
        """The token that opens every text. The tokenizer never makes it."""
        return self.vocab - 1

    @property
    def query_head(self) -> int:
        return self.nope + self.rope

    @property
    def cached(self) -> int:
        return self.latent + self.rope
