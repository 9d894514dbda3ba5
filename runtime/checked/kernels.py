"""What a kernel reads and changes of its arguments, by its schema and by which rows its indices name."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from plait.runtime.checked.extent import Extent, extent, extent_of, joined
from plait.runtime.devices.recording import tensors_in

_aten = torch.ops.aten
_BY_SIZE = frozenset(
    getattr(_aten, name)
    for name in (
        *("empty_like", "zeros_like", "ones_like", "full_like", "rand_like", "randn_like"),
        *("new_empty", "new_zeros", "new_ones", "new_full", "new_empty_strided"),
    )
)
"""They look at a tensor's size and type alone."""
_FILLING = frozenset(
    getattr(_aten, name)
    for name in (
        *("copy_", "fill_", "zero_", "set_", "random_", "uniform_", "normal_", "bernoulli_"),
        *(
            "index_copy_",
            "index_put_",
            "index_fill_",
            "masked_fill_",
            "masked_scatter_",
            "scatter_",
        ),
        *("_index_put_impl_", "_foreach_copy_", "_foreach_zero_"),
    )
)
"""They change a tensor without reading it."""
_ALONG = {
    _aten.index_select: 2,
    _aten.index_copy_: 2,
    _aten.index_add_: 2,
    _aten.index_fill_: 2,
    _aten.gather: 2,
    _aten.scatter_: 2,
    _aten.scatter_add_: 2,
}
"""The argument that names rows, of kernels whose second one is the axis."""


def used(operator: Any, args: tuple, kwargs: dict[str, Any]) -> Iterator[tuple[Any, bool, bool]]:
    """Each tensor that a kernel is given: whether it reads it, and whether it changes it."""
    schema = operator._schema
    views = not schema.is_mutable and any(one.alias_info is not None for one in schema.returns)
    for place, argument in enumerate(schema.arguments):
        value = args[place] if place < len(args) else kwargs.get(argument.name)
        writes = argument.alias_info is not None and argument.alias_info.is_write
        fills = argument.is_out or operator.overloadpacket in _FILLING
        reads = not (writes and fills) and not views and operator.overloadpacket not in _BY_SIZE
        for tensor in tensors_in(value):
            yield tensor, reads, writes


def touched(operator: Any, args: tuple, tensor: torch.Tensor) -> Extent:
    """The bytes of an argument that a kernel comes to: by its indices where it has some, else all."""
    packet = operator.overloadpacket
    if tensor is not args[0]:
        return extent(tensor)
    if packet in _ALONG and isinstance(args[_ALONG[packet]], torch.Tensor):
        return _rows(tensor, args[1], args[_ALONG[packet]])
    if packet is _aten.embedding:
        return _rows(tensor, 0, args[1])
    if packet in (_aten.index, _aten.index_put_, _aten._index_put_impl_, _aten.index_put):
        first = args[1][0] if args[1] else None
        if isinstance(first, torch.Tensor) and first.dtype not in (torch.bool, torch.uint8):
            return _rows(tensor, 0, first)
    return extent(tensor)


def _rows(tensor: torch.Tensor, axis: int, index: torch.Tensor) -> Extent:
    size = tensor.element_size()
    axes = [(n, step * size) for n, step in zip(tensor.shape, tensor.stride(), strict=True)]
    count, step = axes.pop(axis)
    rows = {row % count for row in index.reshape(-1).tolist()}
    return joined(
        run for row in rows for run in extent_of(tensor.data_ptr() + row * step, size, axes)
    )
