"""The sizes of the small Llama: what training builds and inference reads back."""

from __future__ import annotations

from dataclasses import dataclass

from plait.runtime.models.sizes import Sizes


@dataclass(frozen=True)
class Shape(Sizes):
    """Sizes in elements, of which none is written twice."""

    vocab: int = 1024
    hidden: int = 128
    layers: int = 4
    heads: int = 4
    key_heads: int = 2
    """Heads of keys and values: several heads of queries share one."""
    head: int = 32
    gated: int = 384
    """Width of the gated hidden layer; at most 512, up to which exact sums over it are exact."""
    context: int = 512
    """Longest sequence seen in training, in tokens, and the most that inference accepts."""

    def check(self) -> None:
        if self.head % 2:
            raise ValueError(f"head is {self.head}; it is even, for pairs are rotated")
        if self.heads % self.key_heads:
            raise ValueError(
                f"heads is {self.heads}, which {self.key_heads} heads of keys cannot share"
            )

    @property
    def bos(self) -> int:
        """The token that opens every text. The tokenizer never makes it."""
        return self.vocab - 1

    @property
    def group(self) -> int:
        """Heads of queries that share a head of keys."""
        return self.heads // self.key_heads

    @property
    def rope(self) -> int:
        """All of a head is rotated."""
        return self.head

    @property
    def cached(self) -> int:
        """Numbers that the cache of a layer keeps a token: keys, then values."""
        return 2 * self.key_heads * self.head
