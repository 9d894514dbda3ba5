"""What a round computes, whatever streams, edges and graphs it is issued by.

A sound round gives what its text gives one line at a time, so two of them give the same when they have
the same phases on the same data, and of every two accesses that meet the same one comes first.
"""

from __future__ import annotations

from collections.abc import Iterable

from plait.compiler.races.conflicts import regions_meet, vouched
from plait.compiler.round import HOST, Access, Round
from plait.dsl.record import Record

Pair = tuple[str, str, str]
"""Two phases by name, in the order of the text, and the buffer that they meet in."""


class Meaning(Record):
    phases: frozenset[tuple]
    pairs: frozenset[Pair]
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
    return Meaning(frozenset(phases), frozenset(_pairs(round, touched)), on_host)


def _pairs(round: Round, touched: dict[int, list[tuple[str, Access]]]) -> Iterable[Pair]:
    for buffer, touches in touched.items():
        copies, name = round.buffers[buffer].copies, round.buffers[buffer].name
        for place, (later, b) in enumerate(touches):
            for earlier, a in touches[:place]:
                apart = (a.rounds_back - b.rounds_back) % copies
                if not (a.writes or b.writes) or apart or earlier == later:
                    continue
                parts = (a.buffer, a.region), (b.buffer, b.region)
                if regions_meet(a.region, b.region) and not vouched(round, *parts):
                    yield earlier, later, name
