"""The kernels that some calls launch, noted once: what a captured graph on the CPU is made of.

Depends on torch and the standard library alone: a schedule emitted as Python carries this file.

While the calls run, every kernel passes a dispatch mode that notes it with the tensors it was given
and made. Those tensors then are the graph's static memory, and to replay is to launch each kernel
again with its result written into the tensor it made the first time:

- a view of static memory stays valid, so it is left out
- a kernel that changes its arguments is launched as it was
- a constant (made from no tensor, changed by nobody) is kept from the capture
- anything else is launched in its `out` form; where it has none, its result is copied

What a graph cannot hold is refused: a kernel whose result has a size that depends on data, one that
gives numbers to Python, and random numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode


class CaptureError(RuntimeError):
    """Something in a capture cannot be captured."""


@dataclass(frozen=True)
class Kernel:
    """One launch."""

    operator: Any
    """The `torch._ops.OpOverload` to launch."""
    arguments: tuple[Any, ...]
    """In the order of its schema, defaults filled in."""
    into: tuple[torch.Tensor, ...] = ()
    """Where results are copied, of a kernel that has no `out` form."""
    quick: tuple[Callable, tuple, dict[str, Any]] | None = None
    """The same launch by a function of torch's Python interface, which is quicker to call from Python."""


@dataclass(frozen=True)
class Recording:
    kernels: list[Kernel]
    intermediates: set[int]
    """Storages that kernels made and other kernels use, and nobody else."""


def record(name: str, calls: list[Any], written: list[torch.Tensor]) -> Recording:
    """Runs the calls once, noted, and puts `written` back as it was. Raises CaptureError.

    A call has a `name` and the `place` of its phase in the spec, for the message when it fails.
    """
    kept = [tensor.clone() for tensor in written]
    recorder = _Recorder()
    try:
        with torch.no_grad(), recorder:
            for call in calls:
                try:
                    call()
                except Exception as error:
                    found = f"{call.place}: `{call.name}` failed while it was captured in `{name}`"
                    raise CaptureError(f"{found}: {type(error).__name__}: {error}") from error
    finally:
        with torch.no_grad():
            for tensor, value in zip(written, kept, strict=True):
                tensor.copy_(value)
    return recorder.recording()


class _Recorder(TorchDispatchMode):
    """Notes the kernels that are launched under it.

    Everything they were given and made is kept alive, so no memory stands for two tensors.
    """

    def __init__(self) -> None:
        super().__init__()
        self.kernels: list[Kernel] = []
        self.constants: dict[int, set[int]] = {}
        """Kernels that were given no tensor, with the memory of what they made."""
        self.changed: set[int] = set()
        self.made: set[int] = set()
        self.alive: list[Any] = []

    def __torch_dispatch__(
        self, operator: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        _refuse(operator, args)
        result = operator(*args, **kwargs)
        self.alive.append((args, kwargs, result))
        given = memory_of(list(args)) | memory_of(list(kwargs.values()))
        made = memory_of(result)
        if operator._schema.is_mutable:
            self.changed |= _changed_memory(operator, args, kwargs)
            self.kernels.append(_as_it_was(operator, args, kwargs))
        elif not (made and made <= given):
            self.made |= made
            if operator.overloadpacket not in _UNFILLED:
                if not given:
                    self.constants[len(self.kernels)] = made
                self.kernels.append(_with_out(operator, args, kwargs, result))
        return result

    def recording(self) -> Recording:
        """All but constants that nobody changes: those keep what the capture made of them."""
        kept = {n: made for n, made in self.constants.items() if not made & self.changed}
        kernels = [kernel for number, kernel in enumerate(self.kernels) if number not in kept]
        return Recording(kernels, self.made.difference(*kept.values()))


_aten = torch.ops.aten
_UNFILLED = frozenset(
    (_aten.empty, _aten.empty_like, _aten.new_empty, _aten.empty_strided, _aten.new_empty_strided)
)
"""Kernels that only make room: the room of the capture will do."""
_COPIES = frozenset((_aten.clone, _aten._to_copy))
"""Kernels that only copy, perhaps to another type: `copy_` into what they made does the same."""


def _refuse(operator: Any, args: tuple) -> None:
    tags = operator.tags
    if torch.Tag.data_dependent_output in tags:
        raise CaptureError(f"{operator} gives a value to Python; a graph cannot wait for it")
    if torch.Tag.dynamic_output_shape in tags and not _integer_index(operator, args):
        raise CaptureError(f"the size of what {operator} gives depends on data")
    if torch.Tag.nondeterministic_seeded in tags:
        raise CaptureError(f"{operator} draws random numbers, which a replay would not draw again")


def _integer_index(operator: Any, args: tuple) -> bool:
    """Indexing by whole numbers has a size of its own; only a mask's depends on data."""
    if operator is not _aten.index.Tensor:
        return False
    return all(index is None or index.dtype not in (torch.bool, torch.uint8) for index in args[1])


def tensors_in(value: Any) -> list[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, list | tuple):
        return [tensor for item in value for tensor in tensors_in(item)]
    return []


def memory_of(value: Any) -> set[int]:
    """The storages that a value's tensors lie in."""
    return {tensor.untyped_storage().data_ptr() for tensor in tensors_in(value)}


def _changed_memory(operator: Any, args: tuple, kwargs: dict[str, Any]) -> set[int]:
    found: set[int] = set()
    for place, argument in enumerate(operator._schema.arguments):
        if argument.alias_info is not None and argument.alias_info.is_write:
            found |= memory_of(args[place] if place < len(args) else kwargs.get(argument.name))
    return found


def _in_order(operator: Any, args: tuple, kwargs: dict[str, Any]) -> tuple[Any, ...]:
    """Every argument of the schema, those not given at their default."""
    rest = operator._schema.arguments[len(args) :]
    return (*args, *(kwargs.get(one.name, one.default_value) for one in rest))


def _as_it_was(operator: Any, args: tuple, kwargs: dict[str, Any]) -> Kernel:
    """A kernel that changes its arguments."""
    name = operator._schema.name.removeprefix("aten::")
    arguments = _in_order(operator, args, kwargs)
    if name.endswith("_") and hasattr(torch.Tensor, name):
        return Kernel(operator, arguments, quick=(getattr(torch.Tensor, name), args, kwargs))
    out, plain = kwargs.get("out"), getattr(torch, name, None)
    if (
        plain is not None
        and isinstance(out, torch.Tensor)
        and not memory_of(out) & memory_of(list(args))
    ):
        expected = out.clone()
        if _gives(plain, args, kwargs, [expected]):
            return Kernel(operator, arguments, quick=(plain, args, kwargs))
        out.copy_(expected)
    return Kernel(operator, arguments)


def _with_out(operator: Any, args: tuple, kwargs: dict[str, Any], result: Any) -> Kernel:
    """The kernel writing into what it made. A form that does not give the same bits is not used."""
    if operator.overloadpacket in _COPIES:
        copy = (result, args[0], False)
        return Kernel(_aten.copy_.default, copy, quick=(torch.Tensor.copy_, copy, {}))
    made = tuple(tensors_in(result))
    expected = [tensor.clone() for tensor in made]
    kernel = Kernel(operator, _in_order(operator, args, kwargs), into=made)
    form = _out_form(operator, len(made))
    if form is not None:
        outs = dict(zip((a.name for a in form._schema.arguments if a.is_out), made, strict=True))
        if _gives(form, args, {**kwargs, **outs}, expected):
            kernel = Kernel(form, _in_order(form, args, {**kwargs, **outs}))
    plain = getattr(torch, operator._schema.name.removeprefix("aten::"), None)
    named = {**kwargs, "out": result}
    if plain is not None and _gives(plain, args, named, expected):
        kernel = Kernel(kernel.operator, kernel.arguments, kernel.into, (plain, args, named))
    for tensor, value in zip(made, expected, strict=True):
        tensor.copy_(value)
    return kernel


def _gives(form: Any, args: tuple, named: dict[str, Any], expected: list[torch.Tensor]) -> bool:
    """Whether a call fills its outputs, which are among `named`, with the expected bits, from nothing."""
    given = memory_of(list(args))
    outs = [t for value in named.values() for t in tensors_in(value) if not memory_of(t) & given]
    outs = outs[: len(expected)]
    for out in outs:
        out.zero_()
    try:
        form(*args, **named)
    except (TypeError, RuntimeError):
        return False
    return len(outs) == len(expected) and all(
        out.shape == value.shape and _same_bits(out, value)
        for out, value in zip(outs, expected, strict=True)
    )


def _same_bits(a: torch.Tensor, b: torch.Tensor) -> bool:
    return torch.equal(a.reshape(-1).view(torch.uint8), b.reshape(-1).view(torch.uint8))


def _out_form(operator: Any, results: int) -> Any:
    """The overload that takes what this one takes, and a place for each result."""
    wanted = [(a.name, str(a.type)) for a in operator._schema.arguments]
    packet = operator.overloadpacket
    for name in packet.overloads():
        overload = getattr(packet, name)
        arguments = overload._schema.arguments
        found = [(a.name, str(a.type)) for a in arguments if not a.is_out]
        if found == wanted and sum(a.is_out for a in arguments) == results:
            return overload
    return None
