"""What memory holds that nobody may read: no number, or a number that no round has."""

from __future__ import annotations

import torch

BYTE = b"\xa5"


def poison(tensor: torch.Tensor) -> None:
    tensor.fill_(poison_of(tensor.dtype))


def poison_all(tensors: list[torch.Tensor]) -> None:
    for tensor in tensors:
        poison(tensor)


def poison_of(dtype: torch.dtype) -> float | int | bool:
    if dtype.is_floating_point or dtype.is_complex:
        return float("nan")
    if dtype == torch.bool:
        return True
    return int.from_bytes(BYTE * dtype.itemsize, signed=dtype.is_signed)


_SAME_WIDTH = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


def bits(tensor: torch.Tensor) -> torch.Tensor:
    """The same as whole numbers, of which even those that are no numbers have an equal."""
    same = _SAME_WIDTH.get(tensor.element_size())
    return tensor if same is None else tensor.view(same)
