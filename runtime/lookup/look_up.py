"""Looks up, in a request's own tokens, what followed the newest of them when they last stood there.

All of it is tensor work of one shape, so a graph can hold it.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

NEVER = -1
"""Equals no token."""


def look_up(text: Tensor, newest: Tensor, steps: int, longest: int) -> Tensor:
    """Guesses for the tokens behind `newest`, `i64[B, steps]`.

    `text` is `i64[B, width]`, `newest` `i64[B]` the place of the last token in it. Of the earlier places
    the one with most of the same tokens up to it is taken, counted up to `longest`; of several, the last.
    What is said there is repeated as often as the guess is long: so a text that goes round is followed.
    """
    width = text.shape[1]
    place = torch.arange(width)
    end = newest.unsqueeze(1)
    alike = place < end
    length = torch.zeros_like(text)
    for back in range(longest):
        here = F.pad(text, (back, 0), value=NEVER)[:, :width]
        asked = text.gather(1, (end - back).clamp(min=0))
        alike = alike & (here == asked) & (end >= back)
        length += alike
    found = (length * width + place).masked_fill(place >= end, NEVER)
    best = found.argmax(1, keepdim=True)
    round = (end - best).clamp(min=1)
    ahead = best + 1 + torch.arange(steps) % round
    return text.gather(1, ahead.clamp(max=width - 1))


def put_behind(text: Tensor, tokens: Tensor, count: Tensor, newest: Tensor) -> None:
    """Writes the first `count` of a row's tokens into its text, so that the last stands at `newest`.

    `tokens` is `i64[B, most]`, `count` and `newest` are `i64[B]`. What would stand outside is left out.
    """
    count = count.unsqueeze(1)
    offset = torch.arange(text.shape[1]) - (newest.unsqueeze(1) + 1 - count)
    new = tokens.gather(1, offset.clamp(min=0, max=tokens.shape[1] - 1))
    text.copy_(torch.where((offset >= 0) & (offset < count), new, text))
