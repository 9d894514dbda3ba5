"""Buffers that lie in the host's memory.

Depends on torch and the standard library alone: a schedule emitted as Python carries this file.
"""

from __future__ import annotations

import math
import mmap
from typing import Any

import torch

from plait.runtime.devices.tensors import DTYPES, Values, map_tensors


class HostMemory(Values):
    def empty(self, dtype: str, shape: tuple[int, ...], memory: str) -> torch.Tensor:
        return torch.zeros(shape, dtype=DTYPES[dtype])

    def block(self, size: int) -> mmap.mmap:
        return mmap.mmap(-1, size)

    def part(
        self, block: mmap.mmap, offset: int, dtype: str, shape: tuple[int, ...]
    ) -> torch.Tensor:
        # A storage of its own, by which a capture tells what one buffer's memory is from another's.
        count = math.prod(shape)
        made = torch.frombuffer(block, dtype=DTYPES[dtype], count=count, offset=offset)
        return made.view(shape)

    def shadow(self, value: Any) -> Any:
        return map_tensors(torch.clone, value)
