"""Exposed communication, read from a trace, is what the link took less what ran beside it."""

from __future__ import annotations

import statistics

import pytest
import torch

from benchmarks.exposed import PLACES, ExpertLayer, paced
from plait.runtime.exchange.link import LoneLink


@pytest.mark.parametrize("place", PLACES)
def test_exposed_is_what_nothing_hides(place: str) -> None:
    """Over a paced link, in the median of a few rounds, for each place of the shared expert."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    link = paced(LoneLink())
    assert "paced" in link.name
    seen = ExpertLayer(place, link).measured(rounds=5)
    torch.set_num_threads(before)
    assert min(one.expected for one in seen) >= 0.02
    assert statistics.median(one.exposed / one.expected for one in seen) == pytest.approx(
        1, rel=0.25
    )
