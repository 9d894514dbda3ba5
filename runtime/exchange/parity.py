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
        program = schedule.program_of(bucket)
        if not any(one.op == "replay" for one in program):
            continue
        for stretch in _between_replays(program):
            for group, count in _operations(schedule, stretch).items():
                if count % 2:
                    name = schedule.groups[group].name
                    raise ExchangeError(
                        f"{schedule.place_of(stretch[0].place)}: {count} low-latency operations of `{name}` "
                        f"run eagerly between graphs ({bucket.name}); {flavour.name} counts them by twos, "
                        "so there is an even number: take the odd one into the graph of the other"
                    )


def _between_replays(program: Iterable[Instruction]) -> list[list[Instruction]]:
    """Phases that run outside graphs, those in a row together; the end of a round is an end, too, for
    another round may follow."""
    found: list[list[Instruction]] = [[]]
    for one in program:
        if one.op == "replay":
            found.append([])
        elif one.op in PHASE_OPS:
            found[-1].append(one)
    return found


def _operations(schedule: Schedule, program: Iterable[Instruction]) -> Counter[int]:
    """Low-latency operations of each group."""
    found: Counter[int] = Counter()
    for one in program:
        collective = schedule.phases[one.of].collective if one.op in PHASE_OPS else None
        if collective is not None and collective.kind == "low_latency":
            found[collective.group] += 1
    return found
