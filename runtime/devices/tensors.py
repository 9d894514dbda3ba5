"""Values of buffers: tensors, and what holds tensors.

Depends on torch alone: a schedule emitted as Python carries this file.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

DTYPES = {
    "bool": torch.bool,
    "u8": torch.uint8,
    "i8": torch.int8,
    "i16": torch.int16,
    "i32": torch.int32,
    "i64": torch.int64,
    "f16": torch.float16,
    "bf16": torch.bfloat16,
    "f32": torch.float32,
    "f64": torch.float64,
}


def map_tensors(function: Callable, value: Any) -> Any:
    """A tensor, or a dict, list or tuple of such values, with every tensor replaced."""
    if isinstance(value, torch.Tensor):
        return function(value)
    if isinstance(value, dict):
        return {key: map_tensors(function, one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        made = [map_tensors(function, one) for one in value]
        return type(value)(*made) if hasattr(value, "_fields") else type(value)(made)
    kind = type(value).__name__
    raise TypeError(f"it is a tensor, or a dict, list or tuple of them, not {kind}")


def tensors_of(value: Any) -> list[torch.Tensor]:
    found: list[torch.Tensor] = []
    map_tensors(found.append, value)
    return found


class Values:
    """What every device of torch's can say of a buffer's value."""

    def size(self, value: Any) -> int:
        return sum(tensor.nbytes for tensor in tensors_of(value))

    def tensors(self, value: Any) -> list[torch.Tensor]:
        return tensors_of(value)
