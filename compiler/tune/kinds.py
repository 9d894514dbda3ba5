"""The sorts of moves, by the names under which they are asked for."""

from __future__ import annotations

from collections.abc import Iterator

from plait.compiler.tune import buckets, captures, issue, settings, streams
from plait.compiler.tune.candidate import Candidate
from plait.compiler.tune.move import Move, Space, View

MODULES = {
    "settings": settings,
    "streams": streams,
    "captures": captures,
    "issue": issue,
    "buckets": buckets,
}
KINDS = (*MODULES, "edges")
"""Of `edges`: those that no data needs are left out, and what is wider than needed is narrowed."""


def offered(one: Candidate, space: Space) -> Iterator[list[Move]]:
    """All moves from a text, those of one sort after those of another."""
    wanted = KINDS if space.kinds is None else space.kinds
    view = View(one.source, space)
    if "edges" in wanted:
        yield list(one.spare)
    for name, module in MODULES.items():
        if name in wanted:
            yield list(module.moves(view))
