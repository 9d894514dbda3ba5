"""Random programs on every way to replay, as JSON: `python -m soak.replays --seed TEXT --programs N`."""

from __future__ import annotations

import random
import time

import torch

from drawing.kernels import Program, is_faithful, recorded
from plait.runtime.devices.replayers import KINDS, here
from plait.runtime.devices.tiers import NotHere
from soak.apart import main

INPUTS = 3


def replays(seed: str, programs: int) -> dict:
    """How many programs were tried by which tiers, and the numbers of those that gave other bits."""
    found = {kind: here(kind) for kind in KINDS}
    tiers = {kind: one for kind, one in found.items() if not isinstance(one, NotHere)}
    chance = random.Random(seed)
    wrong = []
    start = time.process_time()
    for _ in range(programs):
        program = Program(chance.getrandbits(40))
        kernels = recorded(program)
        for kind, tier in tiers.items():
            if not is_faithful(program, tier.function(kernels), INPUTS):
                wrong.append(f"{kind}: program {program.seed}")
    return {
        "tiers": list(tiers),
        "tried": programs,
        "wrong": wrong,
        "seconds": time.process_time() - start,
    }


if __name__ == "__main__":
    torch.set_num_threads(1)
    with torch.no_grad():
        main("soak.replays", __doc__, replays, "programs", 10_000)
