"""Looking up on tensors against looking up in lists."""

from __future__ import annotations

import torch
from hypothesis import given
from hypothesis import strategies as st

from plait.runtime.lookup.look_up import look_up, put_behind

WIDTH = 12
TEXTS = st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=WIDTH), min_size=1, max_size=4)


def padded(texts: list[list[int]], fill: int) -> torch.Tensor:
    return torch.tensor([[*text, *[fill] * (WIDTH - len(text))] for text in texts])


def looked_up(text: list[int], steps: int, longest: int) -> list[int]:
    """The place that ends most of the same tokens, the last of several; then what is said goes round."""

    def alike(place: int) -> int:
        count = 0
        while count < min(longest, place + 1) and text[place - count] == text[-1 - count]:
            count += 1
        return count

    best = max(range(len(text) - 1), key=lambda place: (alike(place), place), default=0)
    said = text[best + 1 :] or [text[min(1, len(text) - 1)]]
    return [said[step % len(said)] for step in range(steps)]


@given(TEXTS, st.integers(1, 6), st.integers(1, 4), st.integers(0, 3))
def test_it_finds_what_a_search_finds(
    texts: list[list[int]], steps: int, longest: int, fill: int
) -> None:
    """Whatever stands behind the text, and however long the texts beside it are."""
    texts = [text for text in texts if len(text) > 1] or [[0, 0]]
    newest = torch.tensor([len(text) - 1 for text in texts])
    found = look_up(padded(texts, fill), newest, steps, longest)
    assert found.tolist() == [looked_up(text, steps, longest) for text in texts]


@given(TEXTS, st.data())
def test_tokens_are_put_behind_the_text(texts: list[list[int]], data: st.DataObject) -> None:
    """The first of each row so many, and nothing else changes; what is beyond the width is left out."""
    rows = [data.draw(st.lists(st.integers(5, 9), min_size=1, max_size=4)) for _ in texts]
    tokens = torch.tensor([[*row, *[-1] * (4 - len(row))] for row in rows])
    count = torch.tensor([len(row) for row in rows])
    newest = torch.tensor([len(t) + len(r) - 1 for t, r in zip(texts, rows, strict=True)])
    found = padded(texts, 0)
    put_behind(found, tokens, count, newest)
    whole = [[*text, *row][:WIDTH] for text, row in zip(texts, rows, strict=True)]
    assert found.tolist() == padded(whole, 0).tolist()


def test_a_row_that_only_pads_does_no_harm() -> None:
    """With no token, or a place past the end, something in the vocabulary comes out."""
    text = torch.zeros(2, 4, dtype=torch.int64)
    assert look_up(text, torch.tensor([0, 3]), 3, 2).tolist() == [[0] * 3] * 2
