"""A simulation as a picture: every span, what it waited for, and the critical path."""

from __future__ import annotations

import json
from collections.abc import Iterator
from fractions import Fraction

from plait.compiler.emit.picture import Arrow, Bar, Group, Lane, Picture, Round, Table
from plait.compiler.measures.graph import Graph
from plait.compiler.measures.slack_to_end import slacks_to_end
from plait.compiler.timing import timeline
from plait.compiler.timing.drawn import called
from plait.compiler.timing.issue import Doing
from plait.compiler.timing.simulate import Simulation
from plait.dsl.render.figures import percent, shown
from plait.runtime.schedule import Schedule


def foretold(found: Simulation) -> Picture:
    """The picture of one simulation, all of its rounds."""
    schedule, times = found.schedule, found.round_times()
    bucket = schedule.buckets[found.buckets[-1]].name
    each = f"{shown(times[-1])} a round" if len(times) > 1 else shown(found.end)
    return Picture(
        f"{schedule.name} at {bucket}: {each}",
        (group(found, "simulated"),),
        tuple(_notes(found)),
        (decisive_table(found),),
        (*named(schedule), ("bucket", bucket), ("simulated_with", found.profile.name)),
    )


def _notes(found: Simulation) -> Iterator[str]:
    yield f"Simulated with the costs of {found.profile.name}; nothing here was measured."
    if unpriced := found.unpriced():
        yield f"They do not name {', '.join(unpriced)}, which take no time here."


def named(schedule: Schedule) -> tuple[tuple[str, str], ...]:
    """By which programs know a schedule again: what it is called, and all that decided it."""
    settings = ", ".join(f"{name} = {json.dumps(value)}" for name, value in schedule.settings)
    return (
        ("schedule", schedule.name),
        ("variant", schedule.variant or ""),
        ("source", schedule.source.name),
        ("source_sha256", schedule.source.sha256),
        ("target", schedule.target.name),
        ("settings", settings),
    )


def group(found: Simulation, name: str) -> Group:
    """A simulation as one group of a picture, such as `A` or `simulated`."""
    graph = Graph(found)
    slack = slacks_to_end(graph)
    found_lanes = timeline.lanes(found)
    bars = {
        bar.number: _bar(found, bar, slack[bar.number]) for lane in found_lanes for bar in lane.bars
    }
    lanes = tuple(
        Lane(lane.name, (*(bars[bar.number] for bar in lane.bars), *_waits(lane)), not lane.host)
        for lane in found_lanes
    )
    path = tuple(
        Bar("", "idle", one.start, one.end)
        if one.span is None
        else bars[one.span].replace(start=one.start, end=one.end)
        for one in found.path()
    )
    arrows = tuple(arrow for arrow in _arrows(graph) if {arrow.source, arrow.target} <= bars.keys())
    return Group(name, lanes, path, tuple(_rounds(found)), arrows)


def _arrows(graph: Graph) -> Iterator[Arrow]:
    """For waits; that ranks meet is not drawn."""
    for target, sources in enumerate(graph.sources):
        span = graph.spans[target]
        for one in sources:
            if one.how == "event" and graph.spans[one.span].what.rank == span.what.rank:
                yield Arrow(one.span, target, span.cause == one.span)


def decisive_table(found: Simulation) -> Table:
    """What is on the critical path of the last round, the longest first; its rows add up to that round."""
    path = timeline.last_round(found)
    whole = sum(one.end - one.start for one in path)
    rows = (
        (shown(time), percent(Fraction(time, whole)), kind, name)
        for kind, name, time in timeline.decisive(found, path)
    )
    title = f"Critical path{called(found)}, {shown(whole)}"
    return Table(title, ("time", "share", "", "name"), tuple(rows))


def _rounds(found: Simulation) -> Iterator[Round]:
    before = 0
    for number, end in enumerate(found.ends):
        if end > before:
            yield Round(f"round {number}", before, end)
            before = end


def _waits(lane: timeline.Lane) -> Iterator[Bar]:
    for one in lane.waits:
        facts = (("round", one.round), ("for", one.on))
        yield Bar("wait", "wait", one.start, one.end, facts=facts)


def _bar(found: Simulation, bar: timeline.Bar, slack: int) -> Bar:
    schedule, span = found.schedule, found.spans[bar.number]
    doing: Doing = span.what
    bucket = schedule.buckets[found.buckets[doing.round]]
    kind = doing.kind
    facts: list[tuple[str, str | int]] = [("round", doing.round), ("bucket", bucket.name)]
    if span.stream < 0:
        kind = "host"
        facts.append(("does", doing.kind))
    elif kind in ("phase", "link"):
        facts.append(("rows", bucket.work[doing.number][0]))
        if kind == "phase" and schedule.phases[doing.number].collective is not None:
            kind = "collective"
    elif kind in ("load", "replay"):
        facts.append(("rows", bucket.rows[doing.number]))
    if doing.capture is not None:
        facts.append(("graph", schedule.captures[doing.capture].name))
    if span.cause >= 0:
        facts.append(("right after", _called(found, found.spans[span.cause].met)))
    if bar.where:
        facts.append(("spec", bar.where))
    facts.append(("slack_ns", slack))
    return Bar(bar.name, kind, bar.start, bar.end, bar.on_path, False, tuple(facts), bar.number)


def _called(found: Simulation, number: int) -> str:
    span = found.spans[number]
    doing: Doing = span.what
    kind = "host" if span.stream < 0 else doing.kind
    return doing.name if kind == "phase" else f"{kind} {doing.name}"
