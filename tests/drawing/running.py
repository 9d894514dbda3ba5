"""Random rounds made into schedules, and bodies for their phases."""

from __future__ import annotations

from collections.abc import Callable

import torch

from plait.compiler.lower import lower
from plait.compiler.order import order
from plait.compiler.round import Phase, Round
from plait.runtime.schedule import Digest, Schedule


def lowered(*rounds: Round) -> Schedule:
    digest = Digest("random.spec", "0" * 64)
    return lower(
        [order(round) for round in rounds],
        variant=None,
        compiler="test",
        sources=[],
        digests=[digest],
        target=digest,
        environment={},
    )


def body_of(phase: Phase) -> Callable[..., None]:
    """Every output an integer hash of every declared input and of the phase: never a no-op."""

    def body(**given: torch.Tensor) -> None:
        mixed = torch.full((), phase.number + 1, dtype=torch.int64)
        for access in phase.accesses:
            if access.reads:
                mixed = mixed * 1_000_003 + given[access.argument].sum() + access.buffer
        for access in phase.accesses:
            if access.writes:
                into = given[access.argument]
                into.copy_(torch.arange(into.numel()).view(into.shape) * 7919 + mixed)

    return body
