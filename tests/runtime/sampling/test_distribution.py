"""Whole rounds give the target's distribution: four tokens jointly, by chi-square, at fixed seeds."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from drawing.sampled import SAMPLINGS, fit
from plait.runtime.engine.prompt import Sampling
from plait.runtime.sampling import choosing, counter, rejecting

DRAWS = 100_000
FEW = 8_192
"""With which a wrong rule is seen already."""
PLAIN = Sampling(temperature=1.0)
CHANCE = 1e-3
"""Less likely than this, and what came out is not the distribution."""


@pytest.mark.parametrize("asked", SAMPLINGS)
@pytest.mark.parametrize("rounds", ["service", "chain rejected", "tree rejected"])
def test_tokens_have_the_targets_distribution(rounds: str, asked: str) -> None:
    """At three temperatures, one of them with top-k and top-p; what is followed is as the service."""
    found = fit(rounds, SAMPLINGS[asked], DRAWS)
    assert found.p > CHANCE, found


WRONG: dict[str, tuple[str, Callable[..., torch.Tensor]]] = {
    "accepted with p": ("_accepts", lambda luck, p, q: luck < p),
    "accepted always": ("_accepts", lambda luck, p, q: luck < 2),
    "nothing subtracted": ("_residual", lambda p, q: p),
    "a sibling that was refused drawn again": ("_without", lambda q, token: q),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_a_wrong_rule_of_rejection_is_seen(wrong: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the tree, which has every rule in it."""
    monkeypatch.setattr(rejecting, *WRONG[wrong])
    found = fit("tree rejected", PLAIN, FEW, capture=False)
    assert found.p < CHANCE / 1000, found


@pytest.mark.parametrize(
    ("rounds", "shared"),
    [("service", "seed"), ("service", "position"), ("chain rejected", "position")],
)
def test_numbers_that_are_shared_are_seen(
    rounds: str, shared: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One seed for all requests, or one draw for all positions, which each token's own shares do not show."""

    def careless(seed, position, draw, vocab):
        seed, position = (seed * 0, position) if shared == "seed" else (seed, position * 0)
        return counter.exponential(seed, position, draw, vocab)

    monkeypatch.setattr(choosing, "exponential", careless)
    found = fit(rounds, PLAIN, FEW // 2, capture=False)
    assert found.p < CHANCE / 1000, found


def test_a_draw_that_is_used_twice_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether a token is accepted must not be told by the number that it was drafted with."""
    monkeypatch.setattr(rejecting, "ACCEPT", counter.DRAFT)
    found = fit("tree rejected", PLAIN, FEW, capture=False)
    assert found.p < CHANCE / 1000, found
