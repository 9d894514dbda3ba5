"""Messages of fixed capacity: every row reaches its experts once, and its answers come back to it."""

from __future__ import annotations

import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from plait.runtime.exchange.places import answer, packed_message, summed, unpacked_message
from plait.runtime.exchange.sizes import Sizes

HIDDEN = 3


@st.composite
def layers(draw) -> tuple[list[Sizes], int, list[Tensor], list[Tensor]]:
    """Sizes by rank, a capacity, and of each rank its rows and the experts that they choose."""
    ranks, local = draw(st.integers(1, 4)), draw(st.integers(1, 3))
    experts = ranks * local
    choices = draw(st.integers(1, min(3, experts)))
    capacity = draw(st.integers(1, 5))
    sizes = [Sizes(ranks, rank, experts, choices, HIDDEN, capacity) for rank in range(ranks)]
    chosen = st.permutations(range(-1, experts)).map(lambda order: order[:choices])
    rows, ids = [], []
    for _ in range(ranks):
        lists = draw(st.lists(chosen, max_size=capacity))
        ids.append(torch.tensor(lists, dtype=torch.int64).view(-1, choices))
        first = 100.0 * len(rows) + 1  # no two values are the same
        values = torch.arange(first, first + len(lists) * HIDDEN, dtype=torch.float64)
        rows.append(values.view(-1, HIDDEN))
    return sizes, capacity, rows, ids


def carried(messages: list[Tensor]) -> list[Tensor]:
    """What every rank receives when each sends equal parts to all."""
    parts = [message.chunk(len(messages)) for message in messages]
    return [torch.cat([part[rank] for part in parts]) for rank in range(len(messages))]


@settings(max_examples=40)
@given(layers())
def test_there_and_back(drawn) -> None:
    """What experts made of rows, each another thing, is summed by its weights where the row was."""
    sizes, capacity, rows, ids = drawn
    sent = [packed_message(r, i, s, capacity) for r, i, s in zip(rows, ids, sizes, strict=True)]
    arrived = carried([message for message, _ in sent])
    found = [unpacked_message(m, s, capacity) for m, s in zip(arrived, sizes, strict=True)]
    answers = []
    for (received, counts, packed), s in zip(found, sizes, strict=True):
        factor = (torch.arange(s.experts)[s.own] + 1).view(-1, 1, 1)
        lives = torch.arange(received.shape[1]) < counts.unsqueeze(1)
        made = torch.where(lives.unsqueeze(-1), received * factor, float("nan"))
        answers.append(answer(made, packed, s, capacity))
    for back, (_, place), r, i in zip(carried(answers), sent, rows, ids, strict=True):
        weights = (torch.arange(i.numel()) % 5).view(i.shape).double()
        expected = (r.unsqueeze(1) * ((i + 1) * weights).unsqueeze(-1)).sum(1)
        assert torch.equal(summed(back, place, weights), expected)


@settings(max_examples=40)
@given(layers())
def test_received_rows_are_in_order(drawn) -> None:
    """An expert's first rows are those that chose it, by rank and row; the others are zeros."""
    sizes, capacity, rows, ids = drawn
    sent = [packed_message(r, i, s, capacity) for r, i, s in zip(rows, ids, sizes, strict=True)]
    for message, s in zip(carried([m for m, _ in sent]), sizes, strict=True):
        received, counts, _ = unpacked_message(message, s, capacity)
        for local, expert in enumerate(range(s.experts)[s.own]):
            wanted = [
                row.tolist()
                for r, i in zip(rows, ids, strict=True)
                for row, of in zip(r, i, strict=True)
                if expert in of.tolist()
            ]
            assert received[local, : int(counts[local])].tolist() == wanted
            assert not received[local, len(wanted) :].any()
