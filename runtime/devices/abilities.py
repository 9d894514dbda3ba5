"""What sets one device apart from another, for those who must know before they ask.

Depends on the standard library alone: a schedule emitted as Python carries this file.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Abilities:
    """What sets one device apart from another, for those who must know before they ask."""

    streams: int | None = None
    """How many it has that are surely not one and the same; None: as many as are asked for."""
    graph_streams: bool = False
    """Whether a graph keeps several streams side by side; else it does its steps in issue order."""
    task_update: bool = False
    """Whether a captured task can be given other parameters; else a graph reads them where they lie."""
    priorities: bool = False
    core_limits: bool = False
    """Whether a stream can be held to a share of the cores."""
