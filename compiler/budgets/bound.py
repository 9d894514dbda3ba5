"""More streams than the graphs of a pipeline can take, seen at once: most pipelines come nowhere near."""

from __future__ import annotations

from collections.abc import Iterable
from math import lcm

from plait.compiler.round import Round
from plait.compiler.target import Graphs


def takes_at_most(rounds: Iterable[Round], costs: Graphs) -> int:
    """Every capture of every route, as if it had all streams, groups and copies."""
    total = 0
    for round in rounds:
        if round.captures:
            each = (
                costs.streams_each
                + costs.streams_a_side * len(round.streams)
                + costs.streams_a_communicator * len(round.groups)
            )
            instances = lcm(*(buffer.copies for buffer in round.buffers))
            total += each * len(round.captures) * instances
    return total
