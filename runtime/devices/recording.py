"""The kernels that some calls launch, noted once: what a captured graph on the CPU is made of.

Depends on torch and the standard library alone: a schedule emitted as Python carries this file.

While the calls run, every kernel passes a dispatch mode that notes it with the tensors it was given
and made. Those tensors then are the graph's static memory, and to replay is to launch each kernel
again with its result written into the tensor it made the first time:

- a view of static memory stays valid, so it is left out; a kernel holds views of its own, so what
  becomes of a tensor's shape later does not matter to it
- a kernel that changes its arguments is launched as it was
- a constant (made from no tensor, changed by nobody) is kept from the capture
- a tensor of Python data is a constant too: filled again, if kernels change it, with what it held
- anything else is launched in its `out` form; where it has none, its result is copied

What a graph cannot hold is refused (`refusals.py`), and so are changes that a replay would not make or
would make again: of memory that is none of the capture's, and of the shape of a tensor from outside.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from plait.runtime.devices.refusals import CaptureError, RefuseReading, refuse_kernel


@dataclass(frozen=True)
class Kernel:
    """One launch."""

    operator: Any
    """The `torch._ops.OpOverload` to launch."""
    arguments: tuple[Any, ...]
    """In the order of its schema, defaults filled in."""
    into: tuple[torch.Tensor | None, ...] = ()
    """Where each result is copied, of a kernel that has no `out` form; None: it lies where it should."""
    quick: tuple[Callable, tuple, dict[str, Any]] | None = None
    """The same launch by a function of torch's Python interface, which is quicker to call from Python."""


@dataclass(frozen=True)
class Recording:
    kernels: list[Kernel]
    intermediates: set[int]
    """Storages that kernels made and other kernels use, and nobody else."""
    counts: list[int]
    """Of each call, how many of the kernels are its own; they follow each other."""


def record(name: str, calls: list[Any], written: list[torch.Tensor]) -> Recording:
    """Runs the calls once, noted, and puts `written` back as it was. Raises CaptureError.

    A call is a Job: it has the name of its phase and the place in the spec, for when it fails.
    """
    written = _held(written)  # whatever becomes of the tensors themselves
    kept = [tensor.clone() for tensor in written]
    recorder = _Recorder(written, tensors_in([call.keywords for call in calls]))
    try:
        with torch.no_grad(), recorder, RefuseReading():
            for call in calls:
                try:
                    call()
                    recorder.check_outside()
                    recorder.calls.append(len(recorder.kernels))
                except Exception as error:
                    found = f"{call.place}: `{call.name}` failed while it was captured in `{name}`"
                    raise CaptureError(f"{found}: {type(error).__name__}: {error}") from error
        changed = [tensor for tensor in written if storage_of(tensor) in recorder.changed]
        for tensor, value in zip(written, kept, strict=True):
            if not _overlaps(tensor, changed) and not _same_bits(tensor, value):
                raise CaptureError(
                    f"{calls[0].place}: `{name}` changes a buffer past torch's kernels, which a replay "
                    "would not do again"
                )
    finally:
        with torch.no_grad():
            for tensor, value in zip(written, kept, strict=True):
                tensor.copy_(value)
    return recorder.recording()


class _Recorder(TorchDispatchMode):
    """Notes the kernels that are launched under it.

    Everything they made is kept alive, so no memory stands for two tensors.
    """

    def __init__(self, written: list[torch.Tensor], arguments: list[torch.Tensor]) -> None:
        super().__init__()
        self.written = memory_of(written)
        self.kernels: list[Kernel] = []
        self.calls: list[int] = []
        """Of each call that is over, how many kernels there were by then."""
        self.constants: dict[int, set[int]] = {}
        """Kernels that were given no tensor, with the memory of what they made."""
        self.changed: set[int] = set()
        self.made: set[int] = set()
        self.inside: dict[int, torch.Tensor] = {}
        """By identity: tensors that came of a kernel or a view here."""
        self.outside = {id(tensor): (tensor, _layout(tensor)) for tensor in arguments}
        """The others, and what they looked like."""

    def __torch_dispatch__(
        self, operator: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        with torch._C.DisableTorchFunction():  # what is asked of tensors here, no body asks
            kwargs = kwargs or {}
            given = tensors_in([args, kwargs])
            for tensor in given:
                if id(tensor) not in self.inside:
                    self.outside.setdefault(id(tensor), (tensor, _layout(tensor)))
            refuse_kernel(operator, args, kwargs)
            if torch.Tag.inplace_view in operator.tags:
                if id(args[0]) in self.outside:
                    raise CaptureError(f"{operator} changes the shape of a tensor from outside")
                return operator(*args, **kwargs)
            result = self._noted(operator, args, kwargs, memory_of(given))
            passed = {id(tensor) for tensor in given}
            self.inside |= {id(t): t for t in tensors_in(result) if id(t) not in passed}
            return result

    def _noted(self, operator: Any, args: tuple, kwargs: dict[str, Any], given: set[int]) -> Any:
        changed = _changed_memory(operator, args, kwargs)
        if changed - self.made - self.written:
            raise CaptureError(
                f"{operator} changes memory that no phase here updates or writes, and no kernel made"
            )
        self.changed |= changed
        result, quick = _run(operator, args, kwargs)
        args, kwargs, held = _held(args), _held(kwargs), _held(result)
        made = memory_of(result) - given
        if operator._schema.is_mutable:
            self.made |= made
            self.kernels.append(_as_it_was(operator, args, kwargs, _fresh(held, given), quick))
        elif operator is _aten.lift_fresh.default and _is_fresh(result):
            self._make(memory_of(result), _filled(held), constant=True)
        elif made and operator.overloadpacket in _UNFILLED:
            self.made |= made
        elif made:
            kernel = _with_out(operator, args, kwargs, held, _fresh(held, given))
            self._make(made, kernel, constant=not given)
        return result

    def _make(self, made: set[int], kernel: Kernel, constant: bool) -> None:
        self.made |= made
        if constant:
            self.constants[len(self.kernels)] = made
        self.kernels.append(kernel)

    def check_outside(self) -> None:
        """Raises CaptureError when a tensor from outside has been given another shape or memory."""
        with torch._C.DisableTorchFunction():
            for tensor, layout in self.outside.values():
                if _layout(tensor) != layout:
                    raise CaptureError("a tensor from outside was given another shape or memory")

    def recording(self) -> Recording:
        """All but constants that nobody changes: those keep what the capture made of them."""
        kept = {n: made for n, made in self.constants.items() if not made & self.changed}
        kernels = [kernel for number, kernel in enumerate(self.kernels) if number not in kept]
        counts = [
            sum(number not in kept for number in range(first, last))
            for first, last in pairwise([0, *self.calls])
        ]
        return Recording(kernels, self.made.difference(*kept.values()), counts)


_aten = torch.ops.aten
_UNFILLED = frozenset(
    (_aten.empty, _aten.empty_like, _aten.new_empty, _aten.empty_strided, _aten.new_empty_strided)
)
"""Kernels that only make room: the room of the capture will do."""
_COPIES = frozenset((_aten.clone, _aten._to_copy))
"""Kernels that only copy, perhaps to another type: `copy_` into what they made does the same."""


def tensors_in(value: Any) -> list[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, list | tuple):
        return [tensor for item in value for tensor in tensors_in(item)]
    if isinstance(value, dict):
        return tensors_in(list(value.values()))
    return []


def storage_of(tensor: torch.Tensor) -> int:
    """By which a tensor's storage is known, whatever becomes of its size."""
    return tensor.untyped_storage()._cdata


def memory_of(value: Any) -> set[int]:
    """The storages that a value's tensors lie in."""
    return {storage_of(tensor) for tensor in tensors_in(value)}


def _overlaps(tensor: torch.Tensor, others: list[torch.Tensor]) -> bool:
    """Whether a tensor's storage has a byte in common with those of others: buffers share memory."""
    start, end = _bytes_of(tensor)
    return any(first < end and start < last for first, last in map(_bytes_of, others))


def _bytes_of(tensor: torch.Tensor) -> tuple[int, int]:
    storage = tensor.untyped_storage()
    return storage.data_ptr(), storage.data_ptr() + storage.nbytes()


def _held(value: Any) -> Any:
    """The same with a view of its own for every tensor."""
    if isinstance(value, torch.Tensor):
        return value.detach()
    if isinstance(value, dict):
        return {key: _held(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return (list if isinstance(value, list) else tuple)(_held(item) for item in value)
    return value


def _layout(tensor: torch.Tensor) -> tuple[Any, ...]:
    return storage_of(tensor), tensor.shape, tensor.stride(), tensor.storage_offset()


def _is_fresh(tensor: torch.Tensor) -> bool:
    """Whether a tensor of Python data has memory of its own, and not an array's."""
    return tensor.untyped_storage().resizable()


def _filled(tensor: torch.Tensor) -> Kernel:
    """A kernel that fills a tensor with what it holds now."""
    copy = (tensor, tensor.clone(), False)
    return Kernel(_aten.copy_.default, copy, quick=(torch.Tensor.copy_, copy, {}))


def _changed_memory(operator: Any, args: tuple, kwargs: dict[str, Any]) -> set[int]:
    if operator is _aten.native_batch_norm.default and args[5]:
        return memory_of(list(args[3:5]))  # in training, though its schema does not say so
    found: set[int] = set()
    for place, argument in enumerate(operator._schema.arguments):
        if argument.alias_info is not None and argument.alias_info.is_write:
            found |= memory_of(args[place] if place < len(args) else kwargs.get(argument.name))
    return found


def _in_order(operator: Any, args: tuple, kwargs: dict[str, Any]) -> tuple[Any, ...]:
    """Every argument of the schema, those not given at their default."""
    rest = operator._schema.arguments[len(args) :]
    return (*args, *(kwargs.get(one.name, one.default_value) for one in rest))


def _fresh(result: Any, given: set[int]) -> tuple[torch.Tensor | None, ...]:
    """The tensors of a result in order, None for one that lies in memory that was given."""
    return tuple(None if storage_of(one) in given else one for one in tensors_in(result))


def _run(operator: Any, args: tuple, kwargs: dict[str, Any]) -> tuple[Any, Callable | None]:
    """What a kernel gives, and the method of a tensor that launched it, if one did."""
    name = operator._schema.name.removeprefix("aten::")
    if operator._schema.is_mutable and name.endswith("_") and hasattr(torch.Tensor, name):
        method = getattr(torch.Tensor, name)
        try:
            return method(*args, **kwargs), method
        except TypeError:  # it takes not all that the kernel takes
            pass
    return operator(*args, **kwargs), None


def _as_it_was(
    operator: Any,
    args: tuple,
    kwargs: dict[str, Any],
    fresh: tuple[torch.Tensor | None, ...],
    method: Callable | None,
) -> Kernel:
    """A kernel that changes its arguments, and perhaps gives something fresh."""
    arguments = _in_order(operator, args, kwargs)
    if any(one is not None for one in fresh):
        return Kernel(operator, arguments, into=fresh)
    if method is not None:
        return Kernel(operator, arguments, quick=(method, args, kwargs))
    name = operator._schema.name.removeprefix("aten::")
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


def _with_out(
    operator: Any,
    args: tuple,
    kwargs: dict[str, Any],
    result: Any,
    fresh: tuple[torch.Tensor | None, ...],
) -> Kernel:
    """The kernel writing into what it made. A form that does not give the same bits is not used."""
    if operator.overloadpacket in _COPIES:
        copy = (result, args[0], False)
        return Kernel(_aten.copy_.default, copy, quick=(torch.Tensor.copy_, copy, {}))
    kernel = Kernel(operator, _in_order(operator, args, kwargs), into=fresh)
    made = tensors_in(fresh)
    if len(made) != len(fresh):
        return kernel
    expected = [tensor.clone() for tensor in made]
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
    return torch.equal(_bits(a), _bits(b))


def _bits(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.resolve_conj().resolve_neg().contiguous().view(-1).view(torch.uint8)


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
