"""One text to continue, and what has come of it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from torch import Tensor


class RequestError(Exception):
    """A request that cannot be served: what is wrong with it, and what would do."""


@dataclass
class Request:
    prompt: list[int]
    """Token ids, the one that opens a text included."""
    most: int
    """New tokens at most."""
    stop: int
    """The token that ends a text; it is not kept."""
    tokens: list[int] = field(default_factory=list)
    logits: list[Tensor] = field(default_factory=list)
    """One row `[vocab]` for each new token, where a decoder was asked to keep them."""
    ended: bool = False

    @property
    def done(self) -> bool:
        return self.ended or len(self.tokens) >= self.most

    def take(self, tokens: Iterable[int]) -> int:
        """Adds tokens until the request is done; returns how many."""
        before = len(self.tokens)
        for token in tokens:
            if self.done:
                break
            if token == self.stop:
                self.ended = True
            else:
                self.tokens.append(token)
        return len(self.tokens) - before


def span_for(requests: Iterable[Request], rows: int, context: int) -> int:
    """Cache positions that hold every request, in steps of 64.

    Beyond prompt and new tokens there is room for `rows` a round for three rounds: the last round may
    accept more than is wanted, the host learns of it a round later, and one more is drafted. What is
    computed there is thrown away. Raises RequestError for a request over the model's context.
    """
    longest = 0
    for number, request in enumerate(requests, 1):
        wanted = len(request.prompt) + request.most
        if wanted > context:
            raise RequestError(
                f"prompt {number} has {len(request.prompt)} tokens and asks for {request.most} more; "
                f"the model's context is {context}: shorten it, or ask for fewer new tokens"
            )
        longest = max(longest, wanted)
    return -(-(longest + 3 * rows) // 64) * 64
