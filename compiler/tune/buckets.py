"""Other buckets of a dim: the lists that pad fewest rows over the sizes seen, one of each length."""

from __future__ import annotations

from collections.abc import Iterator

from plait.compiler.buckets.plan import NoPlan, planned
from plait.compiler.buckets.trial import TooMuch
from plait.compiler.tune.move import Move, View
from plait.dsl.diagnostic import SpecError

MOST = 8
"""Buckets at most, or as many as there are if those are more."""


def moves(view: View) -> Iterator[Move]:
    counts = dict(view.space.histogram)
    if not counts:
        return
    seen: set[tuple[int, ...]] = set()
    most = MOST
    length = 1
    while length <= most:
        try:
            plan = planned(view.source, view.space.asked, view.space.dim, counts, length)
        except (SpecError, NoPlan, TooMuch):
            return
        most, length = max(MOST, len(plan.now)), length + 1
        made = tuple(plan.buckets)
        if made in seen:
            continue
        seen.add(made)
        if plan.source.text != view.source.text:
            listed = ", ".join(map(str, made))
            yield Move(f"buckets of {plan.dim} are {listed}", plan.source.text)
