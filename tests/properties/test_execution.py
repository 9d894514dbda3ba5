"""Sound rounds on real threads: what comes out is what running the text line by line gives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from drawing.rounds import elaborated, mended, round_texts
from drawing.running import body_of, lowered
from plait.compiler.order import order
from plait.compiler.round import Edge, Phase, Round
from plait.compiler.rules import switch

ROUNDS = 6


def line_by_line(rounds: Sequence[Round]) -> list[list[int]]:
    """The buffers after those rounds, one item at a time, without threads or captures."""
    buffers = [
        [torch.zeros(4, dtype=torch.int64) for _ in range(buffer.copies)]
        for buffer in rounds[0].buffers
    ]
    with torch.no_grad():
        for number, round in enumerate(rounds):
            for phase in (item for item in round.items if isinstance(item, Phase)):
                given = {}
                for access in phase.accesses:
                    copies = buffers[access.buffer]
                    value = copies[(number - access.rounds_back) % len(copies)]
                    (axis,) = access.region or (None,)
                    given[access.argument] = (
                        value
                        if axis is None
                        else value[slice(*axis) if isinstance(axis, tuple) else axis]
                    )
                body_of(phase)(**given)
    return [tensor.tolist() for copies in buffers for tensor in copies]


@given(round_texts())
@settings(max_examples=60)
def test_a_sound_round_gives_the_sequential_result(text: str) -> None:
    """Random rounds, mended until no race is left, run on threads with captures that really capture."""
    round = mended(elaborated(text))
    schedule = lowered(round)
    bodies = {phase.name: body_of(phase) for phase in round.phases}
    with schedule.bind(bodies) as runner:
        for _ in range(ROUNDS):
            runner.step()
        runner.drain()
        found = [tensor.tolist() for copies in runner._buffers for tensor in copies]
    assert found == line_by_line([round] * ROUNDS), text


@given(round_texts(), st.data())
@settings(max_examples=60)
def test_sound_routes_give_the_sequential_result_in_any_sequence(
    text: str, data: st.DataObject
) -> None:
    """Two routes with edges and phases of their own, where no switch between them races."""
    first = mended(elaborated(text))
    second = mended(_without_some(first, data))
    routes = [replace(first, route={"r": True}), replace(second, route={"r": False})]
    if switch.check([order(route) for route in routes]):
        return
    sequence = data.draw(st.lists(st.booleans(), min_size=ROUNDS, max_size=ROUNDS))
    bodies = {phase.name: body_of(phase) for phase in first.phases}
    with lowered(*routes).bind(bodies) as runner:
        for r in sequence:
            runner.step(r=r)
        runner.drain()
        found = [tensor.tolist() for copies in runner._buffers for tensor in copies]
    assert found == line_by_line([routes[not r] for r in sequence]), text


def _without_some(round: Round, data: st.DataObject) -> Round:
    """The same round without some of its edges."""
    kept = [item for item in round.items if not isinstance(item, Edge) or data.draw(st.booleans())]
    return replace(round, items=tuple(kept))
