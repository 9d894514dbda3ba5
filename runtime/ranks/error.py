"""What a rank ends with when another does not come."""

from __future__ import annotations

from plait.runtime.devices.job import PhaseError


class RankError(PhaseError):
    """Ranks did not come together: in what, in which round, and which of them is to blame."""

    def __init__(
        self, message: str, log: tuple[str, ...] = (), late: tuple[int, ...] = (), why: str = ""
    ):
        super().__init__(message)
        self.missed = {}
        self.log = log
        """What this rank came to last on each communicator, in order."""
        self.late = late
        """The ranks that did not come, where it is known."""
        self.why = why
        """What is wrong with them, in words that are as true on any other rank."""
