"""How many rows a phase works on: as it says, or else as what is around it and what it touches do."""

from __future__ import annotations

from plait.compiler.round import Phase, Round


def rows_of(round: Round, phase: Phase) -> int:
    """Its own, its capture's (a graph or not), or the first axis of what it writes, else of what it reads."""
    if phase.rows is not None:
        return phase.rows
    if phase.within in round.widths:
        return round.widths[phase.within]
    for access in sorted(phase.accesses, key=lambda one: not one.writes):
        shape = round.buffers[access.buffer].shape
        if shape:
            return shape[0]
    return 1
