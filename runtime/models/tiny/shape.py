"""The sizes of the tiny model: what training builds and inference reads back."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields

LARGEST = 1 << 20
"""Of any size. A checkpoint's weights are bounded beside it."""


@dataclass(frozen=True)
class Shape:
    """Sizes in elements. They travel with the checkpoint, so that no size is written twice."""

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

    @classmethod
    def from_dict(cls, sizes: object) -> Shape:
        """Raises ValueError for what is no shape of this model: which size, and what it should be."""
        names = {field.name for field in fields(cls)}
        if not isinstance(sizes, dict) or sizes.keys() != names:
            raise ValueError(f"a shape has the sizes {', '.join(sorted(names))}")
        for name, size in sizes.items():
            if type(size) is not int or not 1 <= size <= LARGEST:
                raise ValueError(f"{name} is {size!r}; it is a whole number from 1 to {LARGEST:,}")
        shape = cls(**sizes)
        if shape.rope % 2:
            raise ValueError(f"rope is {shape.rope}; it is even, for pairs are rotated")
        if shape.experts_per_token > shape.routed_experts:
            raise ValueError(
                f"experts_per_token is {shape.experts_per_token}, of {shape.routed_experts} experts"
            )
        return shape

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

    def as_dict(self) -> dict[str, int]:
        return asdict(self)
