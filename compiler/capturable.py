"""What keeps a phase out of a graph."""

from __future__ import annotations

from plait.compiler.round import HOST, Phase, Round


def obstacle(round: Round, phase: Phase) -> str | None:
    """Why no capture may hold a phase; None: one may."""
    if phase.stream == HOST:
        return "it runs on the host"
    if "host_sync" in phase.attributes:
        return "it blocks the host"
    if "raw" in phase.attributes:
        return "it launches outside the queue that is captured"
    for access in phase.accesses:
        if access.writes and round.buffers[access.buffer].task:
            return f"it rebinds {round.buffers[access.buffer].name}, which a graph waits for"
    return None
