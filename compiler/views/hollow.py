"""Operations in flight where the exchange library's hook receives nothing: each is whole when it is sent."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from plait.compiler.round import Round
from plait.compiler.target import Target


@dataclass(frozen=True, slots=True)
class Whole:
    """A launch that runs from end to end on a stream of its own, which the compiler gave it."""

    line: int
    name: str
    stream: str
    target: str


def whole(round: Round, target: Target) -> tuple[Whole, ...]:
    """Every launch of a round, on a target whose hooks are hollow; on any other, none."""
    if target.exchange is None or target.exchange.hooks:
        return ()
    return tuple(
        Whole(phase.span.line, phase.name, round.stream_name(phase.stream), target.name)
        for phase in round.phases
        if phase.launched
    )


def whole_lines(found: tuple[Whole, ...]) -> Iterator[str]:
    """A section of a page for a terminal; nothing where there is nothing to say."""
    if found:
        yield from ("", "in flight without a hook", "")
    for one in found:
        yield f"{one.line:>5}  {one.name} runs whole on a stream of its own, {one.stream}"
        yield f"         hook and event do nothing on {one.target}: the waits above are all the order it has"
