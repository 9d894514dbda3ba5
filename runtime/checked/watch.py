"""Sees the kernels of one body as they are launched, and stops the first that is not declared.

What is changed past torch's kernels (numpy, another library, another thread) it cannot see; of the
last, versions of tensors tell.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from plait.runtime.checked.declared import Buffers, CheckError, Declared
from plait.runtime.checked.extent import Extent, both, extent, meet, within
from plait.runtime.checked.kernels import touched, used
from plait.runtime.checked.shared import Shared
from plait.runtime.devices.recording import memory_of, storage_of, tensors_in

_VALUES = frozenset(
    getattr(torch.Tensor, name) for name in ("tolist", "numpy", "__array__", "__dlpack__")
)
"""Calls that read a tensor without a kernel."""


class Watch(TorchDispatchMode):
    """Raises CheckError from the call that touches what its phase does not declare."""

    def __init__(
        self,
        declared: Declared,
        buffers: Buffers,
        shared: Shared,
        stream: Callable[[], object] | None,
        vouched: Extent = (),
    ):
        super().__init__()
        self.declared = declared
        self.buffers = buffers
        self.shared = shared
        self.stream = stream
        self.vouched = vouched
        """Bytes of which it is noted which are touched, and not only which may be."""
        self.touched: Extent = ()
        self.written: Extent = ()
        self._no_rows: set[int] = set()
        """Storages that a kernel has written no byte of, and yet counts as a change: as an idle round may."""
        self._made: set[int] = set()
        self._kept: list[Any] = []
        """What was made, so that no memory stands for two tensors."""
        self._home = stream() if stream else None

    def __torch_dispatch__(
        self, operator: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        with torch._C.DisableTorchFunction():
            self.at_home(str(operator))
            given = memory_of([args, kwargs])
            changed: Extent = ()
            for tensor, reads, writes in used(operator, args, kwargs):
                if storage_of(tensor) in self._made:
                    continue
                part = extent(tensor)
                if writes:
                    self.changes(tensor, part)
                    if not part:
                        self._no_rows.add(storage_of(tensor))
                    changed = both(changed, part)
                if reads:
                    self.reads(tensor, part)
                if self.vouched and (reads or writes) and meet(part, self.vouched):
                    self.touched = both(self.touched, touched(operator, args, tensor))
            if not within(changed, self.written):
                self.written = both(self.written, changed)
        result = operator(*args, **kwargs)
        with torch._C.DisableTorchFunction():
            self._made |= memory_of(result) - given
            self._kept.append(result)
        return result

    def reads(self, tensor: torch.Tensor, part: Extent) -> None:
        if within(part, self.declared.reads):
            return
        if not within(part, both(self.declared.reads, self.written)):
            self._hold("reads", tensor, part)

    def changes(self, tensor: torch.Tensor, part: Extent) -> None:
        if not within(part, self.declared.changes):
            self._hold("changes", tensor, part)

    def wrote(self, tensor: torch.Tensor, part: Extent) -> bool:
        """Whether its kernels changed a tensor, of these bytes, be it in no row."""
        with torch._C.DisableTorchFunction():
            return meet(part, self.written) or storage_of(tensor) in self._no_rows

    def at_home(self, what: str) -> None:
        """Raises CheckError where another stream is the current one than when the body began."""
        if self.stream is not None and self.stream() != self._home:
            raise CheckError(
                f"is on another stream than its own at {what}: launch on the stream that is current, or "
                "declare a phase for what runs elsewhere"
            )

    def _hold(self, verb: str, tensor: torch.Tensor, part: Extent) -> None:
        if (wrong := self.declared.wrong(verb, part, self.buffers)) is not None:
            raise CheckError(wrong)
        self.shared.used(self.declared.name, tensor, verb == "changes")


class Calls(TorchFunctionMode):
    """Sees the calls that read a tensor past the kernels, for a Watch."""

    def __init__(self, watch: Watch):
        super().__init__()
        self.watch = watch

    def __torch_function__(
        self, function: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        if function in _VALUES:
            with torch._C.DisableTorchFunction():
                for tensor in tensors_in(list(args)):
                    self.watch.reads(tensor, extent(tensor))
        return function(*args, **(kwargs or {}))
