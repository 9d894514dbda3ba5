"""Events of an accelerator, and those that a graph waits for from inside."""

from __future__ import annotations

from typing import Any


class Event:
    """Recorded on a stream, waited for on others, and by the host.

    Where an external event is a slot, whose record the first wait takes, what waits outside of graphs
    waits for an ordinary event that is recorded with it.
    """

    place = "an event"
    """For messages: it has no line of its own in the spec."""
    __slots__ = ("filled", "inside", "name", "native", "owed", "waited")

    def __init__(self, name: str, native: Any, inside: Any = None):
        self.name = name
        self.native = native
        self.inside = inside
        """What graphs wait for; None: none does."""
        self.filled = -1
        """The round of its newest record."""
        self.owed = 0
        """Replays that wait at the slot, less records: 0 when each has had its own."""
        self.waited = False
        """Whether a wait at the slot was asked for since the last record was."""
