"""What the forks of a round start, within graphs too, and where it comes back."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from plait.compiler.branches import Branch, branches
from plait.compiler.order import Order
from plait.compiler.round import Close, Edge, Phase, Round
from plait.dsl.record import Record


class Started(Record):
    """What a fork starts, by names, and where it comes back."""

    fork: str
    line: int
    stream: str
    steps: tuple[str, ...]
    back: str
    back_line: int
    rounds_later: int
    capture: str
    """That it stands in; empty outside of all."""


def started(found: Order) -> list[Started]:
    """The branches of a proven round, those within graphs behind those outside of all."""
    outer = [_outer(one) for one in branches(found)]
    return outer + list(_inner(found.round))


def _outer(one: Branch) -> Started:
    return Started(
        one.fork, one.line, one.stream, one.steps, one.back, one.back_line, one.rounds_later, ""
    )


def _inner(round: Round) -> Iterator[Started]:
    for place, item in enumerate(round.items):
        if isinstance(item, Edge) and item.capture is not None and item.word in ("fork", "launch"):
            steps, last = _steps(round, place, item)
            origin = round.captures[item.capture].stream
            back = _back(round, item, steps, last)
            if steps and back is not None and item.target != origin:
                capture = round.captures[item.capture].name
                ends = isinstance(back, Close)
                yield Started(
                    round.edge_text(item),
                    item.span.line,
                    round.stream_name(item.target),
                    tuple(one.name for one in steps),
                    f"end of {capture}" if ends else round.edge_text(back),
                    round.captures[item.capture].span.line if ends else back.span.line,
                    0,
                    capture,
                )


def _steps(round: Round, place: int, fork: Edge) -> tuple[list[Phase], int]:
    """The phases of the fork's stream within the graph up to its next fork, and where the last stands."""
    found: list[Phase] = []
    last = place
    for number, item in enumerate(round.items[place + 1 :], place + 1):
        if isinstance(item, Close) and item.capture == fork.capture:
            break
        if isinstance(item, Edge) and item.word in ("fork", "launch") and _same(item, fork):
            break
        if isinstance(item, Phase) and _on(item, fork):
            found.append(item)
            last = number
    return found, last


def _same(item: Edge, fork: Edge) -> bool:
    return item.target == fork.target and item.capture == fork.capture


def _on(item: Phase, fork: Edge) -> bool:
    return item.stream == fork.target and item.capture == fork.capture


def _back(round: Round, fork: Edge, steps: Sequence[Phase], last: int) -> Edge | Close | None:
    numbers = {one.number for one in steps}
    for item in round.items[last + 1 :]:
        if isinstance(item, Close) and item.capture == fork.capture:
            return item
        if isinstance(item, Edge) and item.capture == fork.capture and item.target != fork.target:
            source = item.source
            whole = source.kind == "stream" and source.number == fork.target
            if whole or (source.kind == "phase" and source.number in numbers):
                return item
    return None
