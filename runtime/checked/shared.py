"""Memory that is no buffer's and that several phases use: an order between them that nobody declares."""

from __future__ import annotations

import threading

import torch
from torch.multiprocessing.reductions import StorageWeakRef

from plait.runtime.checked.declared import CheckError
from plait.runtime.devices.recording import storage_of


class Shared:
    """Who has used which storage, as long as that lives."""

    def __init__(self) -> None:
        self._users: dict[int, tuple[StorageWeakRef, dict[str, bool]]] = {}
        self._lock = threading.Lock()

    def used(self, phase: str, tensor: torch.Tensor, changes: bool) -> None:
        """Raises CheckError when one phase changes what another one uses."""
        key = storage_of(tensor)
        with self._lock:
            ref, users = self._users.get(key, (None, {}))
            if ref is None or ref.expired():
                ref, users = StorageWeakRef(tensor.untyped_storage()), {}
                self._users[key] = ref, users
            users[phase] = users.get(phase, False) or changes
            others = [name for name, changed in users.items() if name != phase and changed]
            if not others and users[phase]:
                others = [name for name in users if name != phase]
        if others:
            verb = "changes" if changes else "uses"
            other = f"`{others[0]}` {'uses' if changes else 'changes'}"
            raise CheckError(
                f"{verb} memory that is no buffer's and that {other} too; declare a buffer for it"
            )
