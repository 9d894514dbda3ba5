"""What keeps a phase out of a graph."""

from __future__ import annotations

from plait.compiler.round import HOST, Phase, Round
from plait.compiler.target import Target

EXCHANGES = ("all_to_all", "low_latency")


def reads_counts(phase: Phase, target: Target) -> bool:
    """Whether it is an exchange in a mode that reads on the host how many rows come."""
    collective = phase.collective
    return (
        target.exchange is not None
        and collective is not None
        and collective.kind in EXCHANGES
        and collective.kind not in target.exchange.captured
    )


def obstacle(round: Round, phase: Phase, target: Target) -> str | None:
    """Why no capture may hold a phase; None: one may."""
    if phase.stream == HOST:
        return "it runs on the host"
    if "host_sync" in phase.attributes:
        return "it blocks the host"
    if "raw" in phase.attributes:
        return "it launches outside the queue that is captured"
    if phase.collective is not None and reads_counts(phase, target):
        return f"it waits for the host in the mode `{phase.collective.kind}` on {target.name}"
    for access in phase.accesses:
        if access.writes and round.buffers[access.buffer].task:
            return f"it rebinds {round.buffers[access.buffer].name}, which a graph waits for"
    return None
