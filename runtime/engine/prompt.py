"""What is asked of an engine: a text to continue, how its tokens are chosen, and when it ends."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Sampling:
    """How tokens are chosen. The same prompt and seed give the same tokens, whatever shares the batch."""

    temperature: float = 0.0
    """What logits are divided by, without a unit; 0: the likeliest token, and nothing else of this counts."""
    top_k: int = 0
    """Only of so many likeliest; 0: of all."""
    top_p: float = 1.0
    """Only of the likeliest that together have this share of the probability, 0 to 1; the first always."""
    seed: int = 0
    """From -2^63 up to 2^63 - 1."""


@dataclass(frozen=True)
class Prompt:
    """A request: the tokens to go on from, how new ones are chosen, and what ends it."""

    tokens: tuple[int, ...]
    """Token ids, the one that opens a text included."""
    max_tokens: int
    """New tokens at most."""
    sampling: Sampling = Sampling()
    stop_tokens: frozenset[int] = frozenset()
    """Tokens that end it; they are not kept."""
    stop_texts: tuple[str, ...] = ()
    """Texts that end it: it is cut before the first of them."""
    logprobs: int | None = None
    """Of each new token its log probability, and those of so many likeliest; None: of none."""
    priority: int = 0
    """The lower is served first; of one priority, who came first."""
    deadline: float | None = None
    """Seconds from when it was given until it is ended as it stands; None: it may take any time."""
    name: str = field(default="", compare=False)
    """For logs."""
