"""Temperature, top-k and top-p: in this order, and of equal logits the lower id first."""

from __future__ import annotations

import torch

from plait.runtime.engine.prompt import Sampling
from plait.runtime.sampling import logprobs
from plait.runtime.sampling.filtering import kept, ranked


def left(logits: list[float], sampling: Sampling) -> list[int]:
    """Tokens that may be chosen."""
    weights = kept(
        ranked(torch.tensor([logits])),
        torch.tensor([sampling.temperature]),
        torch.tensor([sampling.top_k]),
        torch.tensor([sampling.top_p]),
    )
    return weights[0].nonzero().flatten().tolist()


EVEN = [0.0, 1.0, 1.0, 0.0]


def test_temperature_0_is_the_first_of_the_likeliest() -> None:
    """As argmax has it, whatever else is asked."""
    assert left(EVEN, Sampling()) == [1]
    assert left(EVEN, Sampling(temperature=0.0, top_k=3, top_p=0.9)) == [1]
    assert left(EVEN, Sampling(temperature=-1.0)) == [1]


def test_top_k_keeps_so_many_and_no_more() -> None:
    """Equal logits are no reason to keep a third; more than there are, and 0, is all."""
    assert left(EVEN, Sampling(temperature=1.0, top_k=1)) == [1]
    assert left(EVEN, Sampling(temperature=1.0, top_k=3)) == [0, 1, 2]
    assert left(EVEN, Sampling(temperature=1.0, top_k=9)) == [0, 1, 2, 3]
    assert left(EVEN, Sampling(temperature=1.0, top_k=0)) == [0, 1, 2, 3]


def test_top_p_keeps_what_is_needed_to_reach_it() -> None:
    """Four tokens of a quarter each: a share that two reach exactly needs no third."""
    four = [2.0, 2.0, 2.0, 2.0]
    assert left(four, Sampling(temperature=1.0, top_p=0.5)) == [0, 1]
    assert left(four, Sampling(temperature=1.0, top_p=0.51)) == [0, 1, 2]
    assert left(four, Sampling(temperature=1.0, top_p=0.0)) == [0]
    assert left(four, Sampling(temperature=1.0, top_p=1.0)) == [0, 1, 2, 3]


def test_top_p_is_of_what_top_k_left() -> None:
    """Of two kept tokens the first has half: with that share asked for it is alone."""
    assert left([2.0, 2.0, 2.0, 2.0], Sampling(temperature=1.0, top_k=2, top_p=0.5)) == [0]


def test_temperature_comes_before_top_p() -> None:
    """Cold, the likeliest has the share that is asked for; hot, it has not."""
    logits = [0.0, 1.0, 0.0]
    assert left(logits, Sampling(temperature=0.2, top_p=0.9)) == [1]
    assert left(logits, Sampling(temperature=5.0, top_p=0.9)) == [0, 1, 2]


def test_what_a_model_forbids_is_never_chosen() -> None:
    """A logit of minus infinity has no weight, at any temperature."""
    assert left([-torch.inf, 0.0, 0.0], Sampling(temperature=100.0)) == [1, 2]


def test_logprobs_are_the_models() -> None:
    """Of a token and of the likeliest, before any of this, as log_softmax has them."""
    logits = torch.tensor([[0.5, 3.0, -1.0, 2.0], [1.0, 1.0, 0.0, -40.0]])
    ranks = ranked(logits)
    of = logits.double().log_softmax(-1)
    torch.testing.assert_close(
        logprobs.of_tokens(logits, ranks, torch.tensor([2, 3])), of[[0, 1], [2, 3]]
    )
    torch.testing.assert_close(
        logprobs.of_likeliest(ranks, 2), of.gather(-1, torch.tensor([[1, 3], [0, 1]]))
    )
    assert ranks.tokens[..., :2].tolist() == [[1, 3], [0, 1]]
