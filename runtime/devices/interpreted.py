"""Launches recorded kernels from torch's own interpreter of graphs: needs no compiler.

The graph is made by hand, a node for each kernel, and is run as it is: torch is told not to optimize
it. All that kernels are given is one tuple, which an object keeps for the graph, so that each argument
has the very type that its operator's schema says. The tuple also is a second owner of every tensor: one
that Python alone owns takes Python's lock whenever someone else takes hold of it, and streams would
wait for each other at each kernel, where a whole segment is to run without that lock.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from plait.runtime.devices.recording import Kernel, tensors_in
from plait.runtime.devices.tiers import NotHere, NotTaken

_C: Any = torch._C
NEEDED = (
    *("Graph", "ScriptModule", "CompilationUnit", "TupleType", "_create_function_from_graph"),
    *("_get_graph_executor_optimize", "_set_graph_executor_optimize"),
)
"""None of it is promised by torch."""
WIDE = {bool: torch.bool, int: torch.int64, float: torch.float64, complex: torch.complex128}
BEFORE = "(most recent call last):\n"
"""What the interpreter says before an error, which is of no use for a graph without a text."""
ROUNDED = (torch.float16, torch.bfloat16)
"""Types whose numbers count with more digits than a tensor of the type has."""


class InterpretedError(RuntimeError):
    """A kernel failed while it was replayed."""


def interpreted_replayer() -> InterpretedReplayer:
    """Raises NotHere for a torch without its interpreter."""
    if missing := [name for name in NEEDED if not hasattr(_C, name)]:
        raise NotHere(f"torch {torch.__version__} has no torch._C.{missing[0]}")
    return InterpretedReplayer()


class InterpretedReplayer:
    kind = "interpreter: replay of recorded kernels from torch's interpreter"

    def function(self, kernels: list[Kernel]) -> Callable[[], object]:
        """Raises NotTaken."""
        try:
            run, held = _Drawing().of(kernels)
        except (RuntimeError, TypeError, ValueError) as error:
            raise NotTaken(str(error).strip().partition("\n")[0]) from error
        optimizes, optimize = _C._get_graph_executor_optimize, _C._set_graph_executor_optimize

        def replay() -> None:
            before = optimizes()  # a setting of the thread
            optimize(False)
            try:
                run(held)
            except RuntimeError as error:
                raise InterpretedError(str(error).rpartition(BEFORE)[2].strip()) from error
            finally:
                optimize(before)

        return replay


@dataclass(frozen=True)
class _Launch:
    """A kernel, and where what it is given lies among all that is held."""

    kernel: Kernel
    arguments: list[int]
    into: list[tuple[int, int, int] | None]
    """Of each result: where it is copied to, of which size, and whether that need not be waited for."""


class _Drawing:
    """A graph being made, and all that its kernels are given."""

    def __init__(self) -> None:
        self.graph = _C.Graph()
        self.values: list[Any] = []
        self.types: list[Any] = []
        self._places: dict[Any, int] = {}

    def of(self, kernels: list[Kernel]) -> tuple[Callable, Any]:
        """A function, and what to call it with."""
        launches = [self._launch(kernel) for kernel in kernels]
        holder = _C.ScriptModule("Held", _C.CompilationUnit(), True)
        whole = _C.TupleType(self.types)
        holder._register_attribute("all", whole, tuple(self.values))
        given = self.graph.addInput("held")
        given.setType(holder._type())
        get = self._node("prim::GetAttr", [given], [whole])
        get.s_("name", "all")
        values = list(self._node("prim::TupleUnpack", get.outputs(), self.types).outputs())
        for launch in launches:
            self._add(launch, values)
        nothing = self._node("prim::Constant", [], [_C.NoneType.get()])
        self.graph.registerOutput(nothing.output())
        return _C._create_function_from_graph("replay", self.graph), holder

    def _launch(self, kernel: Kernel) -> _Launch:
        schema = kernel.operator._schema.arguments
        arguments = [
            self._place(_as_tensor(value, kernel) if _is_number(value, one) else value, one.type)
            for value, one in zip(kernel.arguments, schema, strict=True)
        ]
        into = [
            None
            if one is None
            else (
                self._place(one, _C.TensorType.get()),
                self._place(list(one.shape), _C.ListType(_C.IntType.get())),
                self._place(False, _C.BoolType.get()),
            )
            for one in kernel.into
        ]
        return _Launch(kernel, arguments, into)

    def _place(self, value: Any, type: Any) -> int:
        key = (id(value) if tensors_in(value) else repr(value), str(type))
        if key not in self._places:
            self._places[key] = len(self.values)
            self.values.append(value)
            self.types.append(type)
        return self._places[key]

    def _add(self, launch: _Launch, values: list[Any]) -> None:
        schema = launch.kernel.operator._schema
        given = [values[place] for place in launch.arguments]
        node = self._node(schema.name, given, [one.type for one in schema.returns])
        if str(node.schema()) != str(schema):
            raise NotTaken(f"{launch.kernel.operator} is found as {node.schema()}")
        results = self._results(node, len(launch.into)) if any(launch.into) else []
        for places, result in zip(launch.into, results, strict=bool(results)):
            if places is not None:
                into, size, waits = (values[place] for place in places)
                # A view fails where the size is another than when captured; a copy may not.
                same = self._node("aten::view", [result, size], [_C.TensorType.get()]).output()
                self._node("aten::copy_", [into, same, waits], [_C.TensorType.get()])

    def _results(self, node: Any, count: int) -> list[Any]:
        """The tensors among what a node gives, of which there are so many."""
        outputs = list(node.outputs())
        lists = [one for one in outputs if str(one.type()) == "List[Tensor]"]
        alone = sum(str(one.type()) == "Tensor" for one in outputs)
        if len(lists) > 1 or (not lists and alone != count):
            raise NotTaken(f"{node.kind()} gives tensors in a way that is not known")
        found = []
        for one in outputs:
            if one in lists:
                kinds = [_C.TensorType.get()] * (count - alone)
                found += self._node("prim::ListUnpack", [one], kinds).outputs()
            elif str(one.type()) == "Tensor":
                found.append(one)
        return found

    def _node(self, kind: str, given: Any, types: list[Any]) -> Any:
        node = self.graph.create(kind, list(given), len(types))
        self.graph.insertNode(node)
        for output, type in zip(node.outputs(), types, strict=True):
            output.setType(type)
        return node


def _is_number(value: Any, argument: Any) -> bool:
    """Whether a number stands where a kernel takes a tensor."""
    return type(value) in WIDE and str(argument.type) in ("Tensor", "Optional[Tensor]")


def _as_tensor(number: Any, kernel: Kernel) -> torch.Tensor:
    """A tensor without axes with which a kernel gives what it gives with the number.

    A number never widens a tensor of its own sort. Nor does a tensor without axes widen one that has
    some, so there it can hold all digits; else it has the type that the kernel works in.
    """
    schema = kernel.operator._schema.arguments
    (other,) = tensors_in(
        [v for v, one in zip(kernel.arguments, schema, strict=True) if not one.is_out]
    )
    worked_in = torch.result_type(other, number)
    if other.dim() and worked_in == other.dtype:
        return torch.tensor(number, dtype=WIDE[type(number)])
    if worked_in in ROUNDED:
        raise NotTaken(f"{kernel.operator} of a number and one of few digits")
    return torch.tensor(number, dtype=worked_in)
