"""Graphs that wait from inside for rebinds, on real threads: each reads the parameters of its round."""

from __future__ import annotations

from collections import Counter

import torch
from hypothesis import given, settings

from drawing.rebinds import rebound_texts
from drawing.running import body_of
from plait.compiler.compile import Asked, lowered, prove
from plait.compiler.round import Access, Phase, Round
from plait.dsl.diagnostic import SpecError
from plait.dsl.span import Source

ROUNDS = 6
SEEN: Counter[str] = Counter()


def one_by_one(round: Round) -> list[list[int]]:
    """The buffers after those rounds: what writes parameters comes before what reads them."""
    buffers = [torch.zeros(4, dtype=torch.int64) for _ in round.buffers]
    phases = [item for item in round.items if isinstance(item, Phase)]

    def given(access: Access) -> torch.Tensor:
        return buffers[access.buffer]

    for _ in range(ROUNDS):
        done: set[int] = set()
        for phase in phases:
            read = {a.buffer for a in phase.accesses if a.reads and round.buffers[a.buffer].task}
            writers = [p for p in phases if {a.buffer for a in p.accesses if a.writes} & read]
            for one in (*writers, phase):
                if one.number not in done:
                    body_of(one)(**{a.argument: given(a) for a in one.accesses})
                    done.add(one.number)
    return [buffer.tolist() for buffer in buffers]


@given(rebound_texts(fenced=True))
@settings(max_examples=60)
def test_a_sound_round_reads_the_parameters_of_its_own_round(text: str) -> None:
    """Rebinds above and below the replay that waits for them, as many captures as there are."""
    asked = Asked(target="ascend910c")
    try:
        proven = prove(Source("test.spec", text), asked)
    except SpecError:
        SEEN["refused"] += 1
        return
    round = proven.widest.round
    schedule = lowered(proven, asked)
    SEEN["inside" if schedule.external_events() else "plain"] += 1
    bodies = {phase.name: body_of(phase) for phase in round.phases}
    with schedule.bind(bodies, arena=False) as runner:
        for _ in range(ROUNDS):
            runner.step()
        runner.drain()
        found = [tensor.tolist() for copies in runner._buffers for tensor in copies]
    assert found == one_by_one(round), text


def test_graphs_that_wait_from_inside_were_drawn_often() -> None:
    """Else the property above says little."""
    assert SEEN["inside"] > 10
