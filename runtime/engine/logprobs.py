"""Log probabilities of new tokens, as pieces have them: of what was asked for, and where they go out."""

from __future__ import annotations

from torch import Tensor

from plait.runtime.engine.decoder import Entered
from plait.runtime.engine.piece import Logprob
from plait.runtime.engine.prompt import Prompt


def of_prompt(prompt: Prompt, entered: Entered) -> list[Logprob]:
    """Those of the token that a prompt gives."""
    wanted, logprobs = prompt.logprobs, entered.logprobs
    if wanted is None or logprobs is None:
        return []
    # Of equal ones the lower id first, as in rounds, which `topk` does not promise.
    values, ids = (found[:wanted].tolist() for found in logprobs.sort(descending=True, stable=True))
    return [Logprob(float(logprobs[entered.token]), tuple(zip(ids, values, strict=True)))]


def of_round(
    prompt: Prompt, row: int, count: int, logprobs: Tensor | None, tops: Tensor | None
) -> list[Logprob]:
    """Those of so many tokens that a round gave a row, out of its `out_logprobs` and `out_top_tokens`."""
    wanted = prompt.logprobs
    if wanted is None or logprobs is None:
        return []
    values = logprobs[row, :count, : 1 + wanted].tolist()
    ids = tops[row, :count, :wanted].tolist() if tops is not None and wanted else [[]] * count
    return [
        Logprob(chosen, tuple(zip(tokens, likely, strict=True)))
        for (chosen, *likely), tokens in zip(values, ids, strict=True)
    ]
