"""A round as a networkx graph, for people who want to walk it."""

from __future__ import annotations

from typing import Any

from plait.compiler.views.steps import steps
from plait.runtime.schedule import Bucket, Schedule


def graph(schedule: Schedule, bucket: Bucket | None = None) -> Any:
    """A `networkx.MultiDiGraph` of one round, at the largest bucket unless told.

    Nodes are names of phases and captures, with `stream`, `phases` and `rows`; edges have `kind`
    ("stream" or "wait") and `rounds_back`. A wait of the host that nothing follows ends in `host`.
    """
    import networkx

    found, edges = steps(schedule, bucket or schedule.widest)
    made = networkx.MultiDiGraph(name=schedule.name)
    for step in found:
        made.add_node(step.name, stream=step.stream, phases=step.phases, rows=step.rows)
    for edge in edges:
        target = "host" if edge.target is None else found[edge.target].name
        kind = "wait" if edge.waits else "stream"
        made.add_edge(found[edge.source].name, target, kind=kind, rounds_back=edge.rounds_back)
    return made
