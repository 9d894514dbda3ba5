"""What a round computes, whatever streams, edges and graphs it is issued by.

A sound round gives what its text gives one line at a time, so two of them give the same when they have
the same phases on the same data, and of every two accesses that meet the same one comes first.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby

from plait.compiler.races.conflicts import regions_meet, vouched
from plait.compiler.round import HOST, Access, Round
from plait.dsl.record import Record


class Meaning(Record):
    phases: frozenset[tuple]
    levels: frozenset[tuple[str, str, int]]
    """Of each phase and buffer, one more than the highest of those before that it meets there.

    These say of every two that meet which comes first (Cartier and Foata, Problemes combinatoires de
    commutation et rearrangements, 1969), without a row for every two.
    """
    on_host: tuple[str, ...]
    """The host's phases in their order: what a body does beyond its buffers nobody has declared."""


def meanings(rounds: Iterable[Round]) -> dict[str, Meaning]:
    """Of every route, by what it answers to."""
    return {round.answers: meaning(round) for round in rounds}


def meaning(round: Round) -> Meaning:
    phases: list[tuple] = []
    touched: dict[int, list[tuple[str, Access]]] = {}
    for phase in round.phases:
        accesses = []
        for access in phase.accesses:
            buffer = round.buffers[access.buffer]
            kept = (buffer.name, buffer.copies, buffer.carried, buffer.place)
            accesses.append(
                (*kept, access.kind, access.rounds_back, access.region, access.argument)
            )
            touched.setdefault(access.buffer, []).append((phase.name, access))
        of = phase.collective
        collective = of and (of.kind, round.groups[of.group].name)
        phases.append((phase.name, phase.rows, phase.attributes, collective, frozenset(accesses)))
    on_host = tuple(phase.name for phase in round.phases if phase.stream == HOST)
    return Meaning(frozenset(phases), frozenset(_levels(round, touched)), on_host)


def _levels(
    round: Round, touched: dict[int, list[tuple[str, Access]]]
) -> Iterable[tuple[str, str, int]]:
    for buffer, touches in touched.items():
        copies, name = round.buffers[buffer].copies, round.buffers[buffer].name
        parts: dict[tuple, tuple[int, int]] = {}
        """Of what was touched, the highest levels that wrote it, and that did anything to it."""
        for phase, of_phase in groupby(touches, key=lambda touch: touch[0]):
            accesses = [(access, access.rounds_back % copies) for _, access in of_phase]
            level = 1
            for access, copy in accesses:
                own = access.buffer, access.region
                for (other, region), levels in parts.items():
                    below = levels[access.writes]
                    if other != copy or below < level or not regions_meet(region, access.region):
                        continue
                    if not vouched(round, (buffer, region), own):
                        level = below + 1
            for access, copy in accesses:
                wrote, met = parts.get((copy, access.region), (0, 0))
                parts[copy, access.region] = max(wrote, level * access.writes), max(met, level)
            yield phase, name, level
