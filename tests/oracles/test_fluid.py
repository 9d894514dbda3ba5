"""Random rounds, other ones for every commit, simulated and reckoned in exact fractions."""

from __future__ import annotations

from random import Random

import networkx as nx

from drawing.safe import safe_round
from oracles.fluid import fluid
from oracles.trace import Record, Run, Step, Wait, trace
from plait.compiler.compile import Asked, compile_source
from plait.compiler.timing.costs import Cost, HostCosts, Law, Profile, StreamCosts
from plait.compiler.timing.sharing import WHOLE, Uses
from plait.compiler.timing.simulate import Simulation, simulate
from plait.dsl.span import Source
from plait.runtime.schedule import Schedule
from soak.__main__ import commit

ROUNDS = 1_000
RESOURCES = ("cube", "memory", "link")


def drawn(random: Random) -> Schedule:
    return compile_source(Source("p.spec", safe_round(random).text()), Asked())


def costs(random: Random, schedule: Schedule) -> dict[str, tuple[int, Uses]]:
    """Of every phase a time, and what it uses of what there is."""
    return {
        phase.name: (
            random.randint(1, 60),
            tuple(
                (number, random.randint(1, WHOLE))
                for number in range(len(RESOURCES))
                if random.random() < 0.5
            ),
        )
        for phase in schedule.phases
    }


def simulated(schedule: Schedule, costs: dict[str, tuple[int, Uses]], rounds: int) -> Simulation:
    phases = tuple((name, Cost(Law(time), uses)) for name, (time, uses) in costs.items())
    profile = Profile("drawn", "cpu", RESOURCES, HostCosts(), StreamCosts(), phases)
    return simulate(schedule, profile, [len(schedule.buckets) - 1] * rounds)


def spans(found: Simulation) -> dict[tuple[str, int], tuple[int, int]]:
    return {
        (span.what.name, span.what.round): (span.start, span.end)
        for span in found.spans
        if span.what.kind == "phase"
    }


def test_a_schedule_takes_what_a_fluid_would_and_alone_its_longest_path() -> None:
    """Every phase of two or three rounds begins and ends at the same nanosecond; where nothing is shared,
    the last ends when networkx says so of the steps, whatever order they are looked at in."""
    for number in range(ROUNDS):
        random = Random(f"{commit()} {number}")
        schedule = drawn(random)
        given = costs(random, schedule)
        rounds = random.choice([2, 3])
        steps = trace(schedule, [schedule.buckets[-1]] * rounds)
        found = spans(simulated(schedule, given, rounds))
        assert found == fluid(steps, given, len(RESOURCES)), number
        alone = {name: (time, ()) for name, (time, _) in given.items()}
        assert simulated(schedule, alone, rounds).end == longest(steps, alone), number


def longest(steps: list[Step], given: dict[str, tuple[int, Uses]]) -> int:
    """Each step is a node that weighs on the edges out of it."""
    graph = nx.DiGraph()
    newest: dict = {}
    records: dict = {}
    for number, step in enumerate(steps):
        before = {newest.get(step.queue), newest.get((None, 0))}
        if isinstance(step, Record):
            records[step.event] = number
        elif isinstance(step, Wait):
            before.add(records[step.event])
        for one in [one for one in before if one is not None]:
            graph.add_edge(one, number, weight=_time(steps[one], given))
        graph.add_edge(number, "end", weight=_time(step, given))
        newest[step.queue] = number
    return nx.dag_longest_path_length(graph)


def _time(step: Step, given: dict[str, tuple[int, Uses]]) -> int:
    return given[step.name][0] if isinstance(step, Run) and step.name in given else 0
