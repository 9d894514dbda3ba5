"""What a captured graph cannot hold, refused while it is captured.

Depends on torch and the standard library alone: a schedule emitted as Python carries this file.

Most of it is seen as a kernel: one whose result has a size that depends on data, one that gives a
number to Python, random numbers. What takes values or memory of a tensor past the kernels is seen as
a call.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.overrides import TorchFunctionMode


class CaptureError(RuntimeError):
    """Something in a capture cannot be captured."""


_aten = torch.ops.aten
_SIZED_BY_DATA = frozenset((_aten._pack_padded_sequence,))
"""Kernels whose result has a size that depends on data, though no tag of theirs says so."""
_OFF = {"dropout_p": 0.0, "train": False, "training": False}
"""Arguments at which a kernel that could draw random numbers draws none."""


def refuse_kernel(operator: Any, args: tuple, kwargs: dict[str, Any]) -> None:
    """Raises CaptureError for a kernel that a replay could not launch again."""
    tags = operator.tags
    if torch.Tag.data_dependent_output in tags:
        raise CaptureError(f"{operator} gives a value to Python; a graph cannot wait for it")
    if operator.overloadpacket in _SIZED_BY_DATA or (
        torch.Tag.dynamic_output_shape in tags and not _integer_index(operator, args)
    ):
        raise CaptureError(f"the size of what {operator} gives depends on data")
    if torch.Tag.nondeterministic_seeded in tags and not _draws_nothing(operator, args, kwargs):
        raise CaptureError(f"{operator} draws random numbers, which a replay would not draw again")


def _integer_index(operator: Any, args: tuple) -> bool:
    """Indexing by whole numbers has a size of its own; only a mask's depends on data."""
    if operator is not _aten.index.Tensor:
        return False
    return all(index is None or index.dtype not in (torch.bool, torch.uint8) for index in args[1])


def _draws_nothing(operator: Any, args: tuple, kwargs: dict[str, Any]) -> bool:
    for place, argument in enumerate(operator._schema.arguments):
        if argument.name in _OFF:
            given = kwargs.get(argument.name, argument.default_value)
            if (args[place] if place < len(args) else given) == _OFF[argument.name]:
                return True
    return False


class RefuseReading(TorchFunctionMode):
    """Refuses calls that take values or memory of a tensor to Python without a kernel."""

    def __torch_function__(
        self, function: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        given = [*args, *kwargs.values()]
        if (
            function in _READ
            or (function in _FROM_DATA and any(_holds_tensors(value) for value in given))
            or (function in _SPLIT and any(isinstance(v, torch.Tensor) for v in given[1:]))
        ):
            name = getattr(function, "__name__", function)
            raise CaptureError(
                f"`{name}` gives values or memory of a tensor to Python, which a replay does not run"
            )
        return function(*args, **kwargs)


def _holds_tensors(value: Any) -> bool:
    return isinstance(value, list | tuple) and any(
        isinstance(item, torch.Tensor) or _holds_tensors(item) for item in value
    )


def _named(owner: Any, *names: str) -> frozenset[Any]:
    return frozenset(getattr(owner, name) for name in names if hasattr(owner, name))


_READ = _named(
    torch.Tensor,
    *("tolist", "numpy", "__array__", "__dlpack__", "__reduce_ex__", "__deepcopy__"),
    *("untyped_storage", "storage", "_typed_storage", "data_ptr", "share_memory_"),
    *("__bool__", "__int__", "__float__", "__complex__", "__index__"),
    *("apply_", "map_", "map2_"),
)
_FROM_DATA = _named(torch, "tensor", "as_tensor", "asarray") | _named(
    torch.Tensor, "new_tensor", "new"
)
"""They make a tensor of Python data, and of tensors in a list by reading them."""
_SPLIT = frozenset(
    (
        torch.tensor_split,
        torch.Tensor.tensor_split,
        _aten.tensor_split,
        _aten.tensor_split.tensor_indices_or_sections,
    )
)
"""Where to split is read from a tensor, if it is one."""
