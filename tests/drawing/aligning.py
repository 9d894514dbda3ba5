"""Alignments of drawn traces, held against what is true of them."""

from __future__ import annotations

import tempfile
from collections import Counter
from pathlib import Path
from random import Random

from drawing.traces import ROUNDS, Drawn, Kernel, Truth, damaged, drawn, truth
from plait.compiler.align.aligned import Aligned, AlignError, align
from plait.compiler.align.consensus import RARE
from plait.compiler.align.gates import path, signature
from plait.compiler.align.joins import joins
from plait.compiler.traces.read import read_trace

ONE_NAME = "one name alone is of"


def aligned(random: Random, damage: bool) -> tuple[Drawn, Aligned] | None:
    """None where a trace shows nothing that tells rounds apart, and that is said; where nothing of a round
    is left, where what is left of two could be one, and where a kernel is left in so few rounds that it
    could be a stranger: none of which anyone can see."""
    made = drawn(random)
    if damage:
        damaged(random, made)
    seen = {one.round for one in made.kernels if one.node and not one.lost and not one.renamed}
    left = Counter(
        (one.phase, one.place, one.stream)
        for one in made.kernels
        if one.node and not one.lost and not one.renamed
    )
    ran = {(one.phase, one.place, one.stream) for one in made.kernels if one.node}
    few = any(RARE * left[one] <= ROUNDS for one in ran)
    if len(seen) < ROUNDS or few:
        return None
    with tempfile.TemporaryDirectory() as folder:
        trace = read_trace(str(made.write(Path(folder) / "drawn.json")))
    try:
        its = align(made.schedule, made.schedule.widest, trace, made.maps)
    except AlignError as error:
        names = {one.node for one in made.kernels if one.node}
        if ONE_NAME in str(error) and len(names) == 1 and made.marks == "none":
            return None
        raise
    merged = len(its.rounds) + len(its.partial) < ROUNDS
    return None if merged and not made.numbered else (made, its)


def given_right(random: Random) -> Counter[str]:
    found = aligned(random, damage=True)
    counted: Counter[str] = Counter()
    if found is None:
        return counted
    made, its = found
    for kernel, node, round in _given(made, its):
        if kernel.node is not None:
            counted["surviving"] += 1
            counted["right"] += (node, round) == (kernel.node, kernel.round)
    return counted


def _given(made: Drawn, its: Aligned) -> list[tuple[Kernel, str | None, int]]:
    known = {(one.start - its.trace.zero, one.stream): one for one in made.kernels if not one.lost}
    found = []
    for number, piece in enumerate(its.pieces):
        stream = its.trace.lanes[piece.lane].stream
        kernel = known.get((piece.start, int(stream))) if stream.isdecimal() else None
        if kernel is not None:
            node = its.found.nodes[number]
            name = its.declared.nodes[node].name if node >= 0 else None
            found.append((kernel, name, its.found.rounds[number]))
    return found


def disagreements(random: Random, damage: bool) -> list[str]:
    found = aligned(random, damage)
    if found is None:
        return []
    return untrue(*found, damage)


def untrue(made: Drawn, its: Aligned, damage: bool) -> list[str]:
    """What is said of a trace that is not so; of one that is whole, also what is not known."""
    true = truth(made, its.trace.zero)
    said = [*_ends(its, true, damage), *_joins(its, true, damage), *_paths(its, true, damage)]
    if not damage:
        said += [
            f"{kernel.name} of {kernel.node}, round {kernel.round}: given to {node}, {round}"
            for kernel, node, round in _given(made, its)
            if kernel.node is not None and (node, round) != (kernel.node, kernel.round)
        ]
    return said


def _ends(its: Aligned, true: Truth, damage: bool) -> list[str]:
    names = {node.name for n, node in enumerate(its.declared.nodes) if its.seen.expected(n)}
    said = []
    newest = 0
    for round in sorted(its.ends):
        ends = [span[1] for (name, of), span in true.spans.items() if of == round and name in names]
        newest = max([newest, *ends])
        found = its.ends[round]
        if found != newest and (found is not None or not damage) and round in its.rounds:
            said.append(f"round {round} ends at {newest}: {found}")
    return said


def _joins(its: Aligned, true: Truth, damage: bool) -> list[str]:
    nodes, said = its.declared.nodes, []
    for join in joins(its):
        for met in join.met:
            sources = [
                (nodes[one.source].name, met.round - one.rounds_back) for one in join.sources
            ]
            if any(one not in true.spans for one in sources):
                continue
            last = true.last(sources)
            where = f"{nodes[join.target].name}, round {met.round}"
            if met.last is None:
                if all(one in true.sure for one in sources):
                    said.append(f"{where}: {last} was last, and all of it is in the trace")
                continue
            if nodes[met.last].name != last:
                said.append(f"{where}: {last} was last: {nodes[met.last].name}")
            arrival = max(true.spans[one][1] for one in sources)
            for source, time in met.waits:
                ends = {true.spans[one][1] for one in sources if one[0] == nodes[source].name}
                if arrival - time not in ends:
                    said.append(f"{where}: {nodes[source].name} waited {time}: {arrival}, {ends}")
    return said


def _paths(its: Aligned, true: Truth, damage: bool) -> list[str]:
    said = []
    for round in its.measured:
        segments = path(its, round)
        found = signature(segments)
        wanted = _walked(its, true, round)
        if found is None:
            near = [
                (node.name, at) for node in its.declared.nodes for at in range(round - 2, round + 1)
            ]
            if all(one in true.whole for one in near if one in true.spans):
                said.append(f"round {round}: path {wanted}: unknown")
        elif [its.declared.nodes[node].name for node in found] != wanted:
            names = [its.declared.nodes[node].name for node in found]
            said.append(f"round {round}: path {wanted}: {names}")
    return said


def _walked(its: Aligned, true: Truth, round: int) -> list[str]:
    """From the end of a round back, each time to what ended last of all that comes before."""
    nodes = its.declared.nodes
    begin, end = its.begins(round), its.over(round)
    at = next(
        (number, back)
        for back in range(round, -1, -1)
        for number, node in enumerate(nodes)
        if its.seen.expected(number) and true.spans.get((node.name, back), (0, 0))[1] == end
    )
    walked: list[str] = []
    time = end
    while time > begin:
        name = nodes[at[0]].name
        start = max(min(true.spans[name, at[1]][0], time), begin)
        if start < time and walked[-1:] != [name]:
            walked.append(name)
        time = start
        before = [
            (true.spans[nodes[one.source].name, at[1] - one.rounds_back][1], -place, one)
            for place, one in enumerate(its.declared.before(at[0]))
            if (nodes[one.source].name, at[1] - one.rounds_back) in true.spans
            and its.seen.expected(one.source)
            and at[1] - one.rounds_back in its.ends
        ]
        if not before:
            break
        ended, _, order = max(before, key=lambda one: one[:2])
        time = min(time, max(ended, begin))
        at = order.source, at[1] - order.rounds_back
    return walked[::-1]
