"""The sizes of the small Llama: what training builds and inference reads back."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields

LARGEST = 1 << 20
"""Of any size. A checkpoint's weights are bounded beside it."""


@dataclass(frozen=True)
class Shape:
    """Sizes in elements. They travel with the checkpoint, so that no size is written twice."""

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
        if shape.head % 2:
            raise ValueError(f"head is {shape.head}; it is even, for pairs are rotated")
        if shape.heads % shape.key_heads:
            raise ValueError(
                f"heads is {shape.heads}, which {shape.key_heads} heads of keys cannot share"
            )
        return shape

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

    def as_dict(self) -> dict[str, int]:
        return asdict(self)
