"""The loop written by hand does the work of the rounds that it is measured against."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from plait.bench.rounds import ROUNDS, Hand, rounds
from plait.compiler.compile import Asked, compile_source, read_source
from plait.runtime.models.shipped import load

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.mark.parametrize(("model", "spec"), [("tiny", "eagle"), ("small-llama", "lookup")])
def test_both_go_the_same_way(model: str, spec: str) -> None:
    """From one beginning both leave the same bits in all that is carried, and neither stands still."""
    torch.set_num_threads(1)  # as on a stream: how a sum is parted decides its last bits
    schedule = compile_source(read_source(EXAMPLES / f"{spec}.spec"), Asked(environment={}))
    with torch.no_grad(), rounds(load(model), schedule, 2) as made:
        begun = made.carried()
        hand = Hand(made)
        made.took()
        ours = made.carried()
        hand.took()
        theirs = made.carried()
    assert {name for name, value in theirs.items() if not torch.equal(value, ours[name])} == set()
    assert (ours["seq_lens"] - begun["seq_lens"] >= ROUNDS)[:2].all()
