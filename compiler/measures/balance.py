"""What a graph is worth: launches and control that it saves, less padding and what a replay is prepared by.

A graph costs memory as well, which no time makes up for, so that stands beside. The account is of single
parts; whether rounds get shorter depends on whether the host or the streams are what they wait for, so
the round without the graph is simulated too. There its phases are as wide: a bucket pads eager ones as well.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from plait.compiler.budgets.graphs import graphs_of
from plait.compiler.measures.eager import without_graph
from plait.compiler.measures.replays import Replay, live_rows, replays, share_live
from plait.compiler.measures.window import Window
from plait.compiler.round import Round
from plait.compiler.target import Target
from plait.compiler.timing.issue import Issuer
from plait.compiler.timing.steady import steady
from plait.dsl.record import Record
from plait.runtime.schedule import PHASE_OPS


class Balance(Record):
    """Of one graph, in nanoseconds a round."""

    replay: Replay
    phases: int
    launches: int
    """What the host would take longer to issue it piece by piece."""
    padding: int
    """Of its phases, for rows that are nobody's."""
    preparation: int
    """Of its stream, to copy inputs in and to begin."""
    gained: int
    """What rounds would be longer by without it; less than 0 where they would be shorter."""
    memory: int
    """Bytes that its graphs keep, for all sizes: inputs, and the results of the largest."""

    @property
    def net(self) -> int:
        return self.launches - self.padding - self.preparation


def balances(
    found: Window, rounds: Sequence[Round], target: Target, live: Mapping[str, int]
) -> list[Balance]:
    """Of every graph of the round at its bucket. `rounds`: of every bucket, in their order."""
    round = rounds[found.number]
    kept = _kept(rounds, target)
    made = {one.name: one for one in replays(round, live)}
    captures = found.schedule.captures
    return [
        _balance(found, one.of, round, made[captures[one.of].name], kept, live)
        for one in found.schedule.program_of(found.bucket)
        if one.op == "replay"
    ]


def _balance(
    found: Window,
    number: int,
    made: Round,
    replay: Replay,
    kept: Mapping[str, int],
    live: Mapping[str, int],
) -> Balance:
    schedule, host, stream = found.schedule, found.profile.host, found.profile.stream
    capture = schedule.captures[number]
    steps = [one for one in capture.program if one.op in PHASE_OPS]
    lanes = found.steady.simulation.lanes
    issuer = Issuer(schedule, found.profile, lanes, 0, 1)
    each = [issuer.cost(one.of, found.number) for one in steps]
    rows = {one.of: found.bucket.work[one.of][0] for one in steps}
    fewer = _fewer(made, rows, [schedule.phases[of].name for of in rows], live)
    records = sum(one.op == "record" for one in capture.program)
    waits = sum(one.op in ("wait", "external") for one in capture.program)
    loads = sum(one.op == "load" and one.of == number for one in schedule.program_of(found.bucket))
    issued = sum(host.run + cost.host for cost in each)
    issued += host.record * records + host.wait * waits
    padding = sum(
        law.time(rows[one.of]) - law.time(fewer[one.of])
        for one, cost in zip(steps, each, strict=True)
        for law in (cost.law, *([cost.link.law] if cost.link else []))
    )
    eager = steady(without_graph(schedule, number), found.profile, found.number)
    return Balance(
        replay,
        len(steps),
        issued - host.replay - host.load * loads,
        padding,
        stream.load * loads + stream.replay,
        round(eager.mean - found.mean),
        kept.get(capture.name, 0),
    )


def _fewer(
    round: Round, rows: Mapping[int, int], names: Sequence[str], live: Mapping[str, int]
) -> dict[int, int]:
    """Of phases by number, the rows that are live: as their spec has it, or in proportion."""
    extents = {phase.name: phase.extent for phase in round.phases}
    share = share_live(round, live)
    found = {}
    for (number, count), name in zip(rows.items(), names, strict=True):
        extent = extents.get(name)
        known = None if extent is None else live_rows(extent, count, live)
        found[number] = -int(-count * share // 1) if known is None else known
    return found


def _kept(rounds: Sequence[Round], target: Target) -> dict[str, int]:
    """Bytes of the graphs of each capture, those that several rounds share once."""
    found: dict[str, int] = {}
    results: dict[str, int] = {}
    seen = set()
    for round in rounds:
        for key, graph in graphs_of(round, target.graphs):
            if key not in seen:
                seen.add(key)
                found[graph.whole] = found.get(graph.whole, 0) + graph.inputs
                results[graph.whole] = max(results.get(graph.whole, 0), graph.results)
    return {name: inputs + results[name] for name, inputs in found.items()}
