"""Edges that no data needs, left out, and those that wait for more than is needed, narrowed."""

from __future__ import annotations

from collections.abc import Iterator

from plait.compiler.tune.fitted import Fitted, dispensable
from plait.compiler.tune.move import Move
from plait.dsl.edits import edited


def moves(fit: Fitted) -> Iterator[Move]:
    if fit.noted:
        for said, fix in dispensable(fit):
            yield Move(said, edited(fit.source, [fix])[0].text)
