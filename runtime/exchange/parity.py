"""Graphs and pairs of low-latency operations: what a library that counts by twos asks of a schedule.

Its two buffers take turns by a number on the host. A graph replays with the number of its capture, so
between any two places where one may begin there must be an even number of operations.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from plait.runtime.exchange.flavours import Flavour
from plait.runtime.exchange.sizes import ExchangeError
from plait.runtime.schedule import PHASE_OPS, Instruction, Schedule


def check_parity(schedule: Schedule, flavour: Flavour) -> None:
    """Raises ExchangeError for a graph, or a way between two, with an odd number of operations."""
    if not flavour.parity:
        return
    for capture in schedule.captures:
        for group, count in _operations(schedule, capture.program).items():
            if count % 2:
                raise ExchangeError(
                    f"{schedule.place_of(capture.place)}: `{capture.name}` holds {count} low-latency "
                    f"operations of `{schedule.groups[group].name}`; {flavour.name} counts them by twos, "
                    "so a graph holds an even number: take dispatch and combine into one graph"
                )
    for bucket in schedule.buckets:
        since: list[Instruction] = []
        for one in (*schedule.program_of(bucket), None):
            if one is not None and one.op != "replay":
                since.append(one)
                continue
            for group, count in _operations(schedule, since).items():
                if count % 2 and any(i.op == "replay" for i in schedule.program_of(bucket)):
                    where = schedule.place_of(one.place if one else None)
                    raise ExchangeError(
                        f"{where}: {count} low-latency operations of `{schedule.groups[group].name}` run "
                        f"eagerly before it ({bucket.name}); {flavour.name} counts them by twos, so "
                        "between graphs there is an even number: put the odd one into a graph with its pair"
                    )
            since = []


def _operations(schedule: Schedule, program: Iterable[Instruction]) -> Counter[int]:
    """Low-latency operations of each group."""
    found: Counter[int] = Counter()
    for one in program:
        collective = schedule.phases[one.of].collective if one.op in PHASE_OPS else None
        if collective is not None and collective.kind == "low_latency":
            found[collective.group] += 1
    return found
