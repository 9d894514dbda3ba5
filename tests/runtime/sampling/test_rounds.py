"""A request's tokens are its own: whatever shares its batch, is drafted, or launches its kernels."""

from __future__ import annotations

from random import Random

import pytest
import torch
from torch import Tensor

from drawing.sampled import MODEL, decoded, decoder_of, running, served
from plait.runtime.eagle.request import RequestError
from plait.runtime.engine.decoder import Decoder
from plait.runtime.engine.prompt import Prompt, Sampling
from plait.runtime.models.table.rows import TableRows
from plait.runtime.sampling.bodies import DrawnTree
from plait.runtime.sampling.choosing import chosen
from plait.runtime.sampling.filtering import kept, ranked

NEW = 12
"""Tokens of each request."""


def requests(count: int) -> list[tuple[int, Sampling]]:
    """First tokens, each with a way of its own to sample; a quarter of them greedy."""
    random = Random(3)
    found = []
    for _ in range(count):
        asked = Sampling(
            temperature=random.choice([0.0, 0.6, 1.0, 1.7]),
            top_k=random.choice([0, 0, 2, 4]),
            top_p=random.choice([1.0, 1.0, 0.8, 0.5]),
            seed=random.randrange(-(2**63), 2**63),
        )
        found.append((random.randrange(MODEL.vocab), asked))
    return found


def started(decoder: TableRows, asked: list[tuple[int, Sampling]]) -> dict[str, Tensor]:
    first, sampling = zip(*asked, strict=True)
    return decoder.seated(
        torch.tensor(first),
        torch.ones(len(asked), dtype=torch.int64),
        torch.tensor([one.temperature for one in sampling]),
        torch.tensor([one.top_k for one in sampling]),
        torch.tensor([one.top_p for one in sampling]),
        torch.tensor([one.seed for one in sampling]),
    )


def tokens_of(decoder: TableRows, batches: list[list[tuple[int, Sampling]]], **how) -> list:
    with running(decoder, **how) as runner:
        return [
            decoded(runner, decoder.dim, started(decoder, batch), NEW).tolist() for batch in batches
        ]


def plainly(first: int, asked: Sampling) -> list[int]:
    """Plain sampled decoding: one token after the other, alone."""
    tokens = [first]
    while len(tokens) <= NEW:
        weights = kept(
            ranked(MODEL.target[tokens[-1]].unsqueeze(0)),
            torch.tensor([asked.temperature]),
            torch.tensor([asked.top_k]),
            torch.tensor([asked.top_p]),
        )
        position = torch.tensor([len(tokens)])
        tokens.append(int(chosen(weights, torch.tensor([asked.seed]), position)))
    return tokens[1:]


@pytest.fixture(scope="module")
def plain() -> list[list[int]]:
    return [plainly(*one) for one in requests(16)]


@pytest.mark.parametrize("rounds", ["service", "chain followed", "tree followed"])
def test_sampled_rounds_give_the_tokens_of_plain_decoding(rounds: str, plain) -> None:
    """Token for token, for 16 requests that each sample as they ask, whatever is drafted."""
    (found,) = tokens_of(decoder_of(rounds, 16), [requests(16)])
    assert found == plain


@pytest.mark.parametrize("steps", [0, 1, 3, 4])
def test_every_number_of_steps_gives_the_same(steps: int, plain) -> None:
    """Plain decoding, the degenerate schedule, included."""
    (found,) = tokens_of(served(16, num_steps=steps), [requests(16)])
    assert found == plain


@pytest.mark.parametrize("rounds", ["service", "chain rejected", "tree rejected"])
def test_a_seed_gives_its_tokens_whatever_shares_the_batch(rounds: str) -> None:
    """Alone, with another, among 16, and in any row: also where drafts are rejected."""
    asked = requests(16)
    batches = [asked, asked[1:3], asked[2:3], asked[::-1]]
    whole, two, one, back = tokens_of(decoder_of(rounds, 16), batches)
    assert two == whole[1:3]
    assert one == whole[2:3]
    assert back == whole[::-1]


@pytest.fixture(scope="module")
def usual() -> dict[str, list[list[int]]]:
    """Launched the best way that is here."""
    return {
        rounds: tokens_of(decoder_of(rounds, 16), [requests(16)])[0]
        for rounds in ("service", "tree rejected")
    }


@pytest.mark.parametrize("rounds", ["service", "tree rejected"])
@pytest.mark.parametrize("kind", ["interpreter", "python", "eager", "adversary", "checked"])
def test_every_way_to_launch_gives_the_same(
    kind: str, rounds: str, usual, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Captures hold the bodies and what they draw, on every tier; and they touch what is declared alone."""
    if kind in ("interpreter", "python"):
        monkeypatch.setenv("PLAIT_CPU_REPLAY", kind)
    (found,) = tokens_of(
        decoder_of(rounds, 16, capture=kind != "eager"),
        [requests(16)],
        device="adversary" if kind == "adversary" else "cpu",
        checked=kind == "checked",
    )
    assert found == usual[rounds]


def test_a_request_enters_moves_and_leaves() -> None:
    """As any engine asks it of a decoder: with the tokens it has already, it goes on as it would have."""
    decoder: Decoder = served(16)
    asked = Sampling(temperature=1.0, seed=9)
    whole = plainly(2, asked)
    prompt = Prompt((2,), 12, asked, logprobs=1)
    first, later = decoder.enter(0, prompt, []), decoder.enter(1, prompt, whole[:3])
    assert (first.token, later.token) == (whole[0], whole[3])
    assert first.logprobs is not None
    torch.testing.assert_close(first.logprobs, MODEL.target[2].log_softmax(-1))
    assert decoder.held() == {"rows": 2}
    with running(served(16)) as runner:
        carried = {name: torch.as_tensor(value)[None] for name, value in later.carried.items()}
        assert decoded(runner, "bs", carried, 8).tolist() == [whole[3:11]]
    decoder.leave(0, [2, *whole])
    decoder.move(1, 0)
    decoder.leave(0, [2, *whole])
    assert decoder.held() == {"rows": 0}


def test_logprobs_go_out_beside_the_tokens() -> None:
    """Of each token and of the two likeliest, before temperature: those of the row that chose it."""
    decoder = served(16)
    with running(decoder) as runner:
        carried = started(decoder, requests(16))
        decoded(runner, decoder.dim, carried, 2)
        tokens, logprobs, likeliest = (
            runner.buffer(name).clone() for name in ("out_tokens", "out_logprobs", "out_top_tokens")
        )
    before = torch.cat([carried["bonus"].unsqueeze(1), tokens[:, :-1]], 1)
    live = tokens >= 0
    of = MODEL.target[before[live]].log_softmax(-1)
    top = of.topk(2, -1)
    torch.testing.assert_close(logprobs[live][:, 0], of.gather(1, tokens[live][:, None])[:, 0])
    torch.testing.assert_close(logprobs[live][:, 1:], top.values)
    assert likeliest[live].tolist() == top.indices.tolist()


@pytest.mark.parametrize(
    ("tokens", "most", "said"),
    [
        ((), 1, r"of tokens from 0 to 4, one at least; this one is \[\]"),
        ((1, 5), 1, r"of tokens from 0 to 4, one at least; this one is \[1, 5\]"),
        (
            (1,),
            2**20,
            r"has 1 tokens and asks for 1048576 more; the table model's context is 1048576",
        ),
    ],
)
def test_a_prompt_that_is_none_is_refused(tokens, most, said) -> None:
    """What is wrong with it, and what would do."""
    with pytest.raises(RequestError, match=said):
        served(1).enter(0, Prompt(tokens, most), [])


@pytest.mark.parametrize("parents", [[], [0], [-1, 1], [-1, 0, 1, 0], [-1, -1]])
def test_a_shape_that_is_no_tree_is_refused(parents) -> None:
    """Every node behind its parent, and families together."""
    with pytest.raises(ValueError, match="node 0 is the root"):
        DrawnTree(parents)


def test_drafts_that_are_drawn_as_the_target_draws_are_accepted_more_often() -> None:
    """Than the likeliest, where there is much to choose from; and rejection is not far from it."""
    lengths = {}
    for rounds in ("service", "chain followed", "chain rejected"):
        decoder = decoder_of(rounds, 2048)
        asked = [(0, Sampling(temperature=1.5, seed=seed)) for seed in range(2048)]
        with running(decoder) as runner:
            decoded(runner, decoder.dim, started(decoder, asked), 2)
            lengths[rounds] = int((runner.buffer("out_tokens") >= 0).sum()) / 2048
    assert lengths["service"] < lengths["chain followed"] < lengths["chain rejected"]
