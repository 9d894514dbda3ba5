"""The skeleton of a round: every step, every edge with what it orders, every branch and its return."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from plait.compiler.branches import Beside, Branch, branches
from plait.compiler.order import Order, order
from plait.compiler.races.conflicts import races
from plait.compiler.round import Edge, Open, Phase, Vote
from plait.compiler.views.steps import few
from plait.dsl.values import plain


@dataclass(frozen=True, slots=True)
class Ordered:
    """Two accesses that would race without an edge."""

    earlier: str
    later: str
    buffer: str
    rounds_back: int


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the skeleton: a phase, a capture with its phases, or an edge."""

    line: int
    text: str
    stream: str
    phases: tuple[str, ...] = ()
    rows: int | None = None
    edge: bool = False
    waits: bool = False
    """Of an edge: whether it costs a wait, or is implied by the others."""
    orders: tuple[Ordered, ...] = ()


@dataclass(frozen=True)
class Skeleton:
    name: str
    sizes: dict[str, int]
    route: dict[str, Any]
    settings: dict[str, Any]
    lines: tuple[Line, ...]
    branches: tuple[Branch, ...]


def skeleton(found: Order) -> Skeleton:
    """The skeleton of a round that was proven at one bucket."""
    round = found.round
    waited = {edge for wait in found.waits for edge in wait.edges}
    lines = []
    for place, item in enumerate(round.items):
        if isinstance(item, Edge):
            if item.capture is not None:  # the graph's own structure
                continue
            target = round.stream_name(item.target)
            needed = _orders_of(found, place)
            at = item.span.line
            text = round.edge_text(item)
            lines.append(Line(at, text, target, edge=True, waits=place in waited, orders=needed))
        elif isinstance(item, Phase):
            if item.capture is None:
                lines.append(Line(item.span.line, item.name, round.stream_name(item.stream)))
        elif isinstance(item, Vote):
            lines.append(Line(item.span.line, round.item_name(place), "host"))
        elif isinstance(item, Open):
            capture = round.captures[item.capture]
            phases = tuple(p.name for p in round.phases if p.capture == item.capture)
            stream = round.stream_name(capture.stream)
            lines.append(Line(capture.span.line, capture.name, stream, phases, capture.rows))
    return Skeleton(
        round.name,
        round.sizes,
        {name: plain(value) for name, value in round.route.items()},
        {name: plain(value) for name, value in round.settings.items()},
        tuple(lines),
        tuple(branches(found)),
    )


def _orders_of(found: Order, place: int) -> tuple[Ordered, ...]:
    """What would race without the edge at that place, each buffer of a pair of phases once."""
    round = found.round
    without = replace(round, items=round.items[:place] + round.items[place + 1 :])
    pairs = races(order(without, found.rounds))
    return tuple(
        Ordered(
            race.earlier.phase.name,
            race.later.phase.name,
            round.buffers[race.buffer].name,
            race.distance,
        )
        for race in pairs
    )


def skeleton_text(found: Skeleton, times: Mapping[tuple[int, str], Sequence[str]] = {}) -> str:
    """The skeleton as a page for a terminal. `times`: lines on a branch, by the line and text of its fork."""
    named = {**found.sizes, **found.route}
    at = ", ".join(f"{name} = {json.dumps(value)}" for name, value in named.items())
    width = max((len(line.stream) for line in found.lines), default=0)
    out = [f"round of {found.name}" + (f" at {at}" if at else ""), ""]
    for line in found.lines:
        if line.edge:
            out += _edge_lines(line, width)
            continue
        text = f"{line.line:>5}  {line.stream.ljust(width)}  {line.text}"
        if line.phases:
            text += f": {few(line.phases)}   (captured, {line.rows} rows)"
        out.append(text)
    out += ["", "branches", ""]
    for branch in found.branches:
        beside = "; ".join(map(_beside_text, branch.beside)) or "nothing"
        later = {0: "", 1: " of the next round"}.get(
            branch.rounds_later, f", {branch.rounds_later} rounds later"
        )
        out.append(f"{branch.line:>5}  {branch.fork}: {', '.join(branch.steps)}")
        out.append(f"       comes back at line {branch.back_line}{later}: {branch.back}")
        out.append(f"       runs beside: {beside}")
        out += [f"       {line}" for line in times.get((branch.line, branch.fork), ())]
    if not found.branches:
        out.append("       none")
    return "\n".join(out) + "\n"


def _beside_text(beside: Beside) -> str:
    names = ", ".join(beside.steps)
    later = beside.rounds_later
    return f"{names} (round r {'+' if later > 0 else '-'} {abs(later)})" if later else names


def _edge_lines(line: Line, width: int) -> list[str]:
    says = "" if line.waits else "   (no wait: other edges give it)"
    out = [f"{line.line:>5}  {' ' * width}  {line.text}{says}"]
    for one in line.orders:
        ago = "" if not one.rounds_back else f" (round r - {one.rounds_back})"
        out.append(f"{' ' * (9 + width)}  {one.buffer}: {one.earlier}{ago} before {one.later}")
    return out
