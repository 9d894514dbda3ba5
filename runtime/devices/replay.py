"""Capture on the CPU: the kernels that some calls launch, recorded once, replayed without the calls.

Depends on torch and the standard library alone: a schedule emitted as Python carries this file.

While the calls run, every kernel passes a dispatch mode that notes it with the tensors it was given
and made. Those tensors then are the graph's static memory. To replay is to launch each kernel again,
its result written into the tensor it made the first time:

- a view of static memory stays valid, so it is left out
- a kernel that changes its arguments is launched as it was
- a constant (made from no tensor, changed by nobody) is kept from the capture
- anything else is launched with `out=`; where a kernel has no such form, its result is copied

What a graph cannot hold is refused when it is captured: a kernel whose result has a size that
depends on data, one that gives numbers to Python, and random numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode


class CaptureError(RuntimeError):
    """Something in a capture cannot be captured."""


class Graph:
    """Captured kernels. `replay` launches them all."""

    def __init__(self, name: str, place: str, phases: tuple[str, ...], steps: list[_Step]):
        self.name = name
        self.phases = phases
        self.kernels = len(steps)
        self._count = [0]
        self.replay = _straight_line(steps, self._count)
        self.replay.name, self.replay.place = name, place  # type: ignore[attr-defined]

    @property
    def replays(self) -> int:
        return self._count[0]


class _Step:
    """One launch: a function, its arguments, and keyword arguments."""

    def __init__(self, function: Callable, arguments: tuple, named: dict[str, Any]):
        self.function = function
        self.arguments = arguments
        self.named = named


class _Recorder(TorchDispatchMode):
    """Notes the kernels that are launched under it.

    Everything they were given and made is kept alive, so no memory stands for two tensors.
    """

    def __init__(self) -> None:
        super().__init__()
        self.steps: list[_Step] = []
        self.constants: dict[int, set[int]] = {}
        """Steps that were given no tensor, with the memory of what they made."""
        self.changed: set[int] = set()
        self.alive: list[Any] = []

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        _refuse(function, args)
        result = function(*args, **kwargs)
        self.alive.append((args, kwargs, result))
        given = _memory(list(args)) | _memory(list(kwargs.values()))
        made = _memory(result)
        if function._schema.is_mutable:
            self.changed |= _changed_memory(function, args, kwargs)
            self.steps.append(_in_place(function, args, kwargs))
        elif not (made and made <= given) and function.overloadpacket not in _UNFILLED:
            if not given:
                self.constants[len(self.steps)] = made
            self.steps.append(_with_out(function, args, kwargs, result))
        return result

    def needed(self) -> list[_Step]:
        """All steps but constants that nobody changes."""
        return [
            step
            for place, step in enumerate(self.steps)
            if place not in self.constants or self.constants[place] & self.changed
        ]


_UNFILLED = frozenset(
    (torch.ops.aten.empty, torch.ops.aten.empty_like, torch.ops.aten.new_empty)
    + (torch.ops.aten.empty_strided, torch.ops.aten.new_empty_strided)
)
"""Kernels that only make room: the room of the capture will do."""


_COPIES = frozenset((torch.ops.aten.clone, torch.ops.aten._to_copy))
"""Kernels that only copy, perhaps to another type: `copy_` into what they made does the same."""


def capture(name: str, place: str, calls: list[Any], written: list[torch.Tensor]) -> Graph:
    """Runs the calls once, recorded, and puts `written` back as it was. Raises CaptureError."""
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
    return Graph(name, place, tuple(call.name for call in calls), recorder.needed())


def _refuse(function: Any, args: tuple) -> None:
    tags = function.tags
    sized_by_data = torch.Tag.dynamic_output_shape in tags and not _integer_index(function, args)
    if torch.Tag.data_dependent_output in tags:
        raise CaptureError(f"{function} gives a value to Python; a graph cannot wait for it")
    if sized_by_data:
        raise CaptureError(f"the size of what {function} gives depends on data")
    if torch.Tag.nondeterministic_seeded in tags:
        raise CaptureError(f"{function} draws random numbers, which a replay would not draw again")


def _integer_index(function: Any, args: tuple) -> bool:
    """Indexing by whole numbers has a size of its own; only a mask's depends on data."""
    if function is not torch.ops.aten.index.Tensor:
        return False
    return all(index is None or index.dtype not in (torch.bool, torch.uint8) for index in args[1])


def _tensors(value: Any) -> list[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, list | tuple):
        return [tensor for item in value for tensor in _tensors(item)]
    return []


def _memory(value: Any) -> set[int]:
    """The storages that a value's tensors lie in."""
    return {tensor.untyped_storage().data_ptr() for tensor in _tensors(value)}


def _changed_memory(function: Any, args: tuple, kwargs: dict[str, Any]) -> set[int]:
    if not function._schema.is_mutable:
        return set()
    found: set[int] = set()
    for place, argument in enumerate(function._schema.arguments):
        if argument.alias_info is None or not argument.alias_info.is_write:
            continue
        value = args[place] if place < len(args) else kwargs.get(argument.name)
        found |= _memory(value)
    return found


def _in_place(function: Any, args: tuple, kwargs: dict[str, Any]) -> _Step:
    """A changing kernel by torch's own function where there is one: it is quicker to call."""
    name = function._schema.name.removeprefix("aten::")
    if name.endswith("_") and hasattr(torch.Tensor, name):
        return _Step(getattr(torch.Tensor, name), args, kwargs)
    out, plain = kwargs.get("out"), getattr(torch, name, None)
    if plain is not None and isinstance(out, torch.Tensor) and not _memory(out) & _memory(list(args)):
        expected = out.clone()
        if _gives(plain, args, kwargs, [expected]):
            return _Step(plain, args, kwargs)
        out.copy_(expected)
    return _Step(function, args, kwargs)


def _with_out(function: Any, args: tuple, kwargs: dict[str, Any], result: Any) -> _Step:
    """The kernel writing into what it made. A form that does not give the same bits is not used."""
    if function.overloadpacket in _COPIES:
        return _Step(torch.Tensor.copy_, (result, args[0]), {})
    expected = [tensor.clone() for tensor in _tensors(result)]
    named = {**kwargs, "out": result}
    name = function._schema.name.removeprefix("aten::")
    for form in (getattr(torch, name, None), _overload(function)):
        if form is not None and _gives(form, args, named, expected):
            return _Step(form, args, named)
    for tensor, value in zip(_tensors(result), expected, strict=True):
        tensor.copy_(value)
    return _Step(_copied, (function, args, kwargs, result), {})


def _gives(form: Any, args: tuple, named: dict[str, Any], expected: list[torch.Tensor]) -> bool:
    """Whether a call fills its `out` with the expected bits, from nothing."""
    outs = _tensors(named["out"])
    for out in outs:
        out.zero_()
    try:
        form(*args, **named)
    except (TypeError, RuntimeError):
        return False
    return all(
        out.shape == value.shape and _same_bits(out, value)
        for out, value in zip(outs, expected, strict=True)
    )


def _same_bits(a: torch.Tensor, b: torch.Tensor) -> bool:
    return torch.equal(a.contiguous().view(torch.uint8), b.contiguous().view(torch.uint8))


def _overload(function: Any) -> Any:
    """The `out` form of a kernel that takes what it takes."""
    packet = function.overloadpacket
    wanted = [(a.name, str(a.type)) for a in function._schema.arguments]
    for name in packet.overloads():
        overload = getattr(packet, name)
        found = [(a.name, str(a.type)) for a in overload._schema.arguments if not a.is_out]
        outs = [a for a in overload._schema.arguments if a.is_out]
        if len(outs) == 1 and outs[0].name == "out" and found == wanted:
            return overload
    return None


def _copied(function: Any, args: tuple, kwargs: dict[str, Any], into: Any) -> None:
    made = function(*args, **kwargs)
    for old, new in zip(_tensors(into), _tensors(made), strict=True):
        old.copy_(new)


def _straight_line(steps: list[_Step], count: list[int]) -> Callable[[], None]:
    """One function that launches every step: what it uses are its globals, by number."""
    names: dict[str, Any] = {"count": count}
    lines = ["def replay():", "    count[0] += 1"]

    def held(value: Any) -> str:
        names[name := f"v{len(names)}"] = value
        return name

    for step in steps:
        words = [held(value) for value in step.arguments]
        words += [f"{key}={held(value)}" for key, value in step.named.items()]
        lines.append(f"    {held(step.function)}({', '.join(words)})")
    exec(compile("\n".join(lines), "<captured kernels>", "exec"), names)
    return names["replay"]
