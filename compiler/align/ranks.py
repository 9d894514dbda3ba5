"""Ranks side by side: all leave a collective together, so who came last was in it for the shortest time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from plait.compiler.align.aligned import Aligned
from plait.compiler.align.joins import joins
from plait.compiler.spread import mad, median


def ranks(every: Sequence[Aligned]) -> list[dict[str, Any]]:
    """Of every collective who came last, in how many rounds, and how long each rank waited for that.

    Clocks of ranks need not agree.
    """
    first = every[0]
    tolerance = max(one.tolerance for one in every)
    held = [_held_up(one) for one in every]
    found = []
    for node, its in enumerate(first.declared.nodes):
        if not its.collective:
            continue
        times = [
            {
                one.round: one.end - one.start
                for one in made.instances(node)
                if one.begins and one.ends
            }
            for made in every
        ]
        rounds = sorted(set.intersection(*(set(one) for one in times)))
        if not rounds:
            continue
        last: Counter[int] = Counter()
        for round in rounds:
            shortest, next_ = sorted(one[round] for one in times)[:2]
            if next_ - shortest > tolerance:
                last[min(range(len(times)), key=lambda rank: times[rank][round])] += 1
        waited = [
            [own[round] - min(one[round] for one in times) for round in rounds] for own in times
        ]
        found.append(
            {
                "node": its.title,
                "rounds": len(rounds),
                "ranks": [
                    {
                        "trace": made.trace.file,
                        "last": last[rank],
                        "waited": {
                            "median": median(waited[rank]),
                            "mad": mad(waited[rank]),
                            "rounds": len(rounds),
                        },
                        "held_up_by": held[rank].get(node),
                    }
                    for rank, made in enumerate(every)
                ],
            }
        )
    return found


def _held_up(made: Aligned) -> dict[int, str]:
    """Of every join what was last most often."""
    found = {}
    for join in joins(made):
        counted = Counter(one.last for one in join.met if one.last is not None)
        if counted:
            node = min(counted, key=lambda one: (-counted[one], one))
            found[join.target] = made.declared.nodes[node].title
    return found
