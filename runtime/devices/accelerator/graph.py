"""A captured graph of an accelerator."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from plait.runtime.devices.accelerator.events import Event


@dataclass(frozen=True)
class Task:
    """A call in a graph whose parameters can be given anew, by issuing it once more."""

    job: Any
    handle: Any


class Graph:
    def __init__(
        self, name: str, place: str, phases: tuple[str, ...], native: Any, kept: list[Any]
    ):
        self.name = name
        self.place = place
        self.phases = phases
        self.kernels = len(phases)
        """Calls of phases: how many kernels they launch is the device's to know."""
        self.replays = 0
        self.ran = -1
        """The newest round that it was replayed in."""
        self.taken = 0
        """Bytes that it needed beyond what its pool had."""
        self.native = native
        self.external: list[tuple[Event, int]] = []
        """What it waits for from inside, once a replay, and of how many rounds back."""
        self.tasks: dict[int, list[Task]] = {}
        """By the buffer that their parameters are in."""
        self._kept = kept
        """Events of its own, which live as long as it does."""
