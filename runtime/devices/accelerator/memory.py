"""Where buffers of an accelerator lie, and how they are copied."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import torch

from plait.runtime.devices.tensors import DTYPES, map_tensors, tensors_of


def empty(dtype: str, shape: tuple[int, ...], memory: str, device: torch.device) -> torch.Tensor:
    """Zeroed. What streams touch of the host's memory is pinned, so that no copy holds the host up."""
    kind = DTYPES[dtype]
    if memory == "device":
        return torch.zeros(shape, dtype=kind, device=device)
    return torch.zeros(shape, dtype=kind, device="cpu", pin_memory=memory != "parameters")


def part(block: torch.Tensor, offset: int, dtype: str, shape: tuple[int, ...]) -> torch.Tensor:
    size = math.prod(shape) * DTYPES[dtype].itemsize
    return block[offset : offset + size].view(DTYPES[dtype]).view(shape)


def shadow(value: Any, device: torch.device) -> Any:
    """On the device wherever the value lies: its load is the one copy that a stream does in order."""
    return map_tensors(lambda tensor: torch.empty_like(tensor, device=device).copy_(tensor), value)


def copies(pairs: Iterable[tuple[Any, Any]]) -> list[tuple[torch.Tensor, torch.Tensor, bool]]:
    """Each pair of tensors, and whether its copy leaves the host free: pageable memory would not last."""
    found = []
    for first, second in pairs:
        for into, out_of in zip(tensors_of(first), tensors_of(second), strict=True):
            host = [tensor for tensor in (into, out_of) if tensor.device.type == "cpu"]
            found.append((into, out_of, all(tensor.is_pinned() for tensor in host)))
    return found


def copy(pairs: list[tuple[torch.Tensor, torch.Tensor, bool]]) -> None:
    for into, out_of, free in pairs:
        into.copy_(out_of, non_blocking=free)
