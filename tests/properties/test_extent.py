"""Checked mode's bytes: what runs say of a tensor is what its elements' addresses say."""

from __future__ import annotations

from itertools import pairwise

import torch
from hypothesis import given
from hypothesis import strategies as st

from plait.runtime.checked import extent as runs


@st.composite
def views(draw: st.DrawFn) -> torch.Tensor:
    """A view of one block of 240 numbers: axes swapped, cut, stepped over, of one row."""
    shape = draw(st.sampled_from([(240,), (12, 20), (4, 6, 10), (2, 3, 4, 10)]))
    tensor = BLOCK.view(shape).permute(draw(st.permutations(range(len(shape)))))
    for axis in range(len(shape)):
        first = draw(st.integers(0, tensor.shape[axis]))
        last = draw(st.integers(first, tensor.shape[axis]))
        tensor = tensor[(slice(None),) * axis + (slice(first, last, draw(st.integers(1, 3))),)]
    if draw(st.booleans()) and tensor.shape[0]:
        tensor = tensor[draw(st.integers(0, tensor.shape[0] - 1))]
    return tensor.expand(2, *tensor.shape) if draw(st.booleans()) else tensor


BLOCK = torch.arange(240, dtype=torch.int32)


def addresses(tensor: torch.Tensor) -> set[int]:
    """Every byte, from the number that each element holds, which is its place in the block."""
    start = BLOCK.data_ptr()
    return {start + 4 * place + byte for place in tensor.flatten().tolist() for byte in range(4)}


def bytes_of(extent: runs.Extent) -> set[int]:
    return {byte for start, end in extent for byte in range(start, end)}


@given(views(), views())
def test_runs_are_the_bytes_of_the_elements(one: torch.Tensor, other: torch.Tensor) -> None:
    """Every view has exactly its bytes, and what is asked of two is what sets of bytes answer."""
    a, b = runs.extent(one), runs.extent(other)
    mine, theirs = addresses(one), addresses(other)
    assert bytes_of(a) == mine and bytes_of(b) == theirs
    assert all(first[1] < second[0] for first, second in pairwise(a))
    assert runs.within(a, b) == (mine <= theirs)
    assert runs.meet(a, b) == bool(mine & theirs)
    assert bytes_of(runs.both(a, b)) == mine | theirs
