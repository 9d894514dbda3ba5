"""Exposed communication, read from a trace, is what the link took less what ran beside it."""

from __future__ import annotations

import statistics

import pytest
import torch

from benchmarks.exposed import PLACES, ExpertLayer, paced
from plait.runtime.exchange.link import LoneLink

TRIES = 3
"""A machine that is busy with other things may begin an exchange late."""


@pytest.mark.parametrize("place", PLACES)
def test_exposed_is_what_nothing_hides(place: str) -> None:
    """Over a paced link, in the median of a few rounds, for each place of the shared expert."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        ratios = []
        for _ in range(TRIES):
            ratios.append(measured(place))
            if 0.75 <= ratios[-1] <= 1.25:
                return
    finally:
        torch.set_num_threads(before)
    pytest.fail(f"exposed is {ratios} times what is expected")


def measured(place: str) -> float:
    """Exposed over expected."""
    link = paced(LoneLink(), 0.3)
    assert "paced" in link.name
    seen = ExpertLayer(place, link, compute=0.1).measured(rounds=3)
    assert min(one.communication or 0 for one in seen) >= 0.05
    return statistics.median(one.exposed for one in seen) / statistics.median(
        max(one.expected, 1e-9) for one in seen
    )
