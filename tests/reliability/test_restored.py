"""Speculative decoding through rounds that fail: the same tokens, and an end to what cannot be mended."""

from __future__ import annotations

import pytest
import torch

from plait.runtime.devices.adversary.device import Adversary
from plait.runtime.devices.cpu import Cpu
from plait.runtime.devices.job import PhaseError
from plait.runtime.devices.refusals import CaptureError
from plait.runtime.eagle.compare import Outcome, decode, requests_for
from plait.runtime.injected import fault, injected
from plait.runtime.models.tiny.checkpoint import load_checkpoint

FAILING = [
    ("build_tree", "verify", "commit"),
    ("draft", "accept", "publish"),
    ("plan_verify", "plan_extend", "extend"),
]


@pytest.fixture(scope="module")
def model():
    torch.set_num_threads(1)
    checkpoint = load_checkpoint()
    return checkpoint, checkpoint.model("exact")


@pytest.fixture(scope="module")
def schedule(compiled, eagle):
    return compiled(eagle, settings={"buckets": [2]})


def decoded(model, schedule, *faults: str, prompts: int = 3, **asked) -> Outcome:
    """Three texts in two slots, with these faults."""
    checkpoint, tiny = model
    texts = [
        checkpoint.tokenizer.decode(checkpoint.tokenizer.encode(t)[:8]) for t in checkpoint.prompts
    ]
    device = injected(Cpu(), [fault(text, schedule) for text in faults])
    make = lambda: requests_for(checkpoint, texts[:prompts], 16)  # noqa: E731
    return decode(schedule, tiny, make, device=device, **asked)


@pytest.fixture(scope="module")
def undisturbed(model, schedule) -> list[list[int]]:
    outcome = decoded(model, schedule)
    assert outcome.identical
    return [request.tokens for request in outcome.requests]


@pytest.mark.parametrize("phases", FAILING)
def test_every_request_goes_on_after_any_phase_fails(phases, model, schedule, undisturbed) -> None:
    """Wherever it strikes, in the first round and later, all texts are those of an undisturbed run.

    A fault may be met two rounds later, and what was begun by then is not run: so they are three apart.
    """
    faults = [f"raise:{phase}@{3 * number}" for number, phase in enumerate(phases)]
    outcome = decoded(model, schedule, *faults, with_plain=False)
    assert [request.tokens for request in outcome.requests] == undisturbed
    assert [one.split("InjectedFault: ")[1] for one in outcome.speculative.faults] == [
        f"injected by {one}" for one in faults
    ]


def test_logits_are_those_of_an_undisturbed_run(model, schedule) -> None:
    """Every token keeps the logits it was chosen by, those of a second prefill too."""
    outcome = decoded(model, schedule, "raise:accept@1", "raise:extend@3", keep_logits=True)
    assert outcome.identical and outcome.plain is not None and len(outcome.speculative.faults) == 2
    for one, other in zip(outcome.requests, outcome.plain, strict=True):
        assert len(one.logits) == len(one.tokens)
        assert all(torch.equal(a, b) for a, b in zip(one.logits, other.logits, strict=True))


def test_what_fails_again_and_again_is_raised(model, schedule) -> None:
    """After three failures without a whole round the fourth comes out."""
    told: list[str] = []
    faults = [f"raise:accept@{number}" for number in range(20)]
    with pytest.raises(PhaseError, match="`accept` failed on main in round"):
        decoded(model, schedule, *faults, with_plain=False, on_fault=lambda e: told.append(e.phase))
    assert told == ["accept"] * 3


def test_who_takes_the_tokens_may_fail_too(model, schedule) -> None:
    """That is no fault of the round: it comes out at once, and nothing is prefilled for it."""
    told: list[str] = []
    given: list[int] = []

    def take(request, count):
        given.append(count)
        if len(given) == 4:
            raise OSError("no space")

    with pytest.raises(PhaseError, match="`commit` failed on host .*no space"):
        decoded(model, schedule, on_tokens=take, on_fault=lambda e: told.append(e.phase), prompts=2)
    assert not told and len(given) == 4


@pytest.mark.parametrize("strict", [False, True])
def test_a_capture_without_memory_is_lost_on_the_adversary_too(strict: bool, compiled) -> None:
    """It runs nothing while it captures, so the fault is met there and not in every round."""
    schedule = compiled(LACKING)
    device = injected(Adversary(1), [fault("memory:g", schedule)])
    bodies = {"grow": lambda x: x.add_(1)}
    with schedule.bind(bodies, device=device, strict=strict) as runner:
        if strict:
            with pytest.raises(CaptureError, match="test.spec:5: `g` cannot be captured: .*memory"):
                runner.step()
            return
        runner.step()
        runner.drain()
        assert runner.buffer("x").tolist() == [1, 1]
        assert [one["capture"] for one in runner.counts()[0]["lost"]] == ["g"]


LACKING = """\
spec 1
pipeline p {
  stream a
  buffer x : i64[2] carried
  capture g on a rows 2 { phase grow on a { updates x } }
}
"""
