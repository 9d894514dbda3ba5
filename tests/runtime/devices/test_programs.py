"""Random programs replay as they run, whichever way their kernels are launched."""

from __future__ import annotations

import pytest
import torch

from drawing.kernels import Program, is_faithful, recorded
from plait.runtime.devices.graph import PythonReplayer, Replayer
from plait.runtime.devices.replayers import KINDS, here
from plait.runtime.devices.tiers import NotHere

PROGRAMS = 500
BLOCKS = 5


@pytest.fixture(autouse=True)
def as_on_a_stream():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    with torch.no_grad():
        yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="module")
def tiers() -> dict[str, Replayer]:
    found = {kind: here(kind) for kind in KINDS}
    return {kind: one for kind, one in found.items() if not isinstance(one, NotHere)}


@pytest.mark.parametrize("block", range(BLOCKS))
def test_random_programs_replay_as_they_run(block: int, tiers: dict[str, Replayer]) -> None:
    """Each is recorded once, and every tier leaves the bits that the program itself leaves."""
    for seed in range(block, PROGRAMS, BLOCKS):
        program = Program(seed)
        kernels = recorded(program)
        wrong = [k for k, one in tiers.items() if not is_faithful(program, one.function(kernels))]
        assert not wrong, (wrong, seed)


def test_the_random_programs_can_tell() -> None:
    """One kernel is left out of each, and that is seen: but for one whose result nobody looks at."""
    caught = 0
    for seed in range(60):
        program = Program(seed)
        launch = PythonReplayer().function(recorded(program, without=seed))
        caught += not is_faithful(program, launch)
    assert caught >= 54, caught
