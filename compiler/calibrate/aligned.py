"""Samples from any trace that is aligned with its spec: nodes as long as they were seen, round by round."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import pairwise

from plait.compiler.align.aligned import Aligned
from plait.compiler.align.instances import Instance
from plait.compiler.calibrate.samples import Ran, Round, Samples
from plait.runtime.schedule import HOST


def aligned_samples(its: Aligned) -> Samples:
    """Of whole rounds at the bucket of the alignment.

    A graph is seen as a whole: what it takes is given in equal parts to those of its phases of which there
    are the most by one name, the last of such names.
    """
    samples = Samples(files=[its.trace.file], schedules=[its.schedule])
    number = its.schedule.buckets.index(its.bucket)
    named = {one.number: one.bucket for one in its.trace.rounds if one.bucket}
    rounds = [one for one in its.rounds if named.get(one, its.bucket.name) == its.bucket.name]
    for round in rounds:
        seen = [one for one in its.of(round) if one.begins and one.ends]
        for one in seen:
            samples.phases += ran(its, one)
            if its.declared.nodes[one.node].kind == "load":
                samples.loads.append(one.end - one.start)
        _between(its, seen, samples)
        samples.issues += _issues(its, seen)
    measured = set(its.measured)
    samples.rounds += [
        Round(0, number, its.length(round), True) for round in rounds if round in measured
    ]
    for node in its.declared.nodes:
        if node.kind == "capture" and len(set(node.bodies)) > 1:
            samples.notes.append(
                f"{node.name} was seen as a whole: all of it is given to {_heaviest(node.bodies)}"
            )
    return samples


def ran(its: Aligned, one: Instance) -> Iterator[Ran]:
    node = its.declared.nodes[one.node]
    if node.kind == "load":
        return
    heavy = _heaviest(node.bodies)
    mine = [name for name, body in zip(node.phases, node.bodies, strict=True) if body == heavy]
    took = one.end - one.start
    for number, phase in enumerate(its.schedule.phases):
        if phase.name not in node.phases:
            continue
        rows, _ = its.bucket.work[number]
        time = took // len(mine) if phase.name in mine else 0
        held, host = node.kind == "capture", phase.stream == HOST
        yield Ran(phase.body, rows, time, held, host=host)


def _heaviest(bodies: tuple[str, ...]) -> str:
    counted = Counter(bodies)
    return max(enumerate(bodies), key=lambda one: (counted[one[1]], one[0]))[1]


def _between(its: Aligned, seen: list[Instance], samples: Samples) -> None:
    """From one node to the next on a lane: a turn, or a wait where another lane held it up longer."""
    by_node = {one.node: one for one in seen}
    last: dict[int, Instance] = {}
    for one in sorted(seen, key=lambda one: one.start):
        before, last[one.lane] = last.get(one.lane), one
        if before is None or before.end > one.start:
            continue
        held = [
            by_node[order.source].end
            for order in its.declared.before(one.node)
            if order.rounds_back == 0 and order.source in by_node
        ]
        until = max(held, default=0)
        if one.issued > before.end:
            continue  # the host was late
        if until <= before.end:
            samples.turns.append(one.start - before.end)
        elif until <= one.start:
            samples.waits.append(one.start - until)


def _issues(its: Aligned, seen: list[Instance]) -> Iterator[int]:
    """Of the host for an instruction, between nodes that it issued one after the other."""
    program = its.schedule.program_of(its.bucket)
    issuing = max(sum(one.on != HOST for one in program), 1)
    nodes = len(its.declared.nodes)
    issued = sorted(one.issued for one in seen if one.issued >= 0)
    for before, one in pairwise(issued):
        yield (one - before) * nodes // issuing
