"""Captured segments: a replay gives the bits that the calls would give, and never calls them."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F

from plait.runtime.devices.graph import Replayer, capture
from plait.runtime.devices.job import job
from plait.runtime.devices.memory import compacted
from plait.runtime.devices.recording import record
from plait.runtime.devices.refusals import CaptureError


@pytest.fixture(autouse=True)
def no_gradients():
    with torch.no_grad():
        yield


class Segment:
    """A small attention step: views, in-place cache writes, several outputs, constants, casts."""

    def __init__(self, seed: int):
        generator = torch.Generator().manual_seed(seed)
        self.weight = torch.randn(16, 16, generator=generator)
        self.x = torch.randn(3, 16, generator=generator)
        self.cache = torch.zeros(3, 8, 16)
        self.position = torch.tensor([1, 2, 3])
        self.out = torch.zeros(3, 16)
        self.calls = 0

    def __call__(self) -> None:
        self.calls += 1
        hidden = F.silu(F.rms_norm(F.linear(self.x, self.weight), (16,)))
        index = self.position.view(3, 1, 1).expand(3, 1, 16)
        self.cache.scatter_(1, index, hidden.unsqueeze(1))
        behind = torch.arange(8) > self.position.unsqueeze(1)
        scores = torch.bmm(hidden.unsqueeze(1), self.cache.transpose(1, 2))
        share = scores.masked_fill(behind.unsqueeze(1), float("-inf")).softmax(-1)
        values, places = share.topk(2, -1)
        mixed = torch.bmm(share, self.cache)[:, 0] * 2 + torch.zeros(3, 16).add_(1.0)
        self.out.copy_(mixed + values.sum(-1) + places.sum(-1).to(torch.float32))


def test_a_replay_gives_the_same_bits_on_new_inputs(replayer: Replayer) -> None:
    """Outputs and caches equal those of the calls, with static inputs rewritten in between."""
    segment, twin = Segment(0), Segment(0)
    graph = capture(
        "g", "test:1", [job("step", "test:1", segment)], [segment.cache, segment.out], replayer
    )
    assert segment.calls == 1 and not segment.cache.any() and not segment.out.any()
    for step in range(6):
        generator = torch.Generator().manual_seed(step)
        fresh = torch.randn(3, 16, generator=generator)
        place = torch.randint(0, 8, (3,), generator=generator)
        for one in (segment, twin):
            one.x.copy_(fresh)
            one.position.copy_(place)
        graph.replay()
        twin()
        assert torch.equal(segment.out, twin.out) and torch.equal(segment.cache, twin.cache)
    assert segment.calls == 1 and graph.replays == 6


def test_intermediates_share_memory() -> None:
    """A chain of a hundred kernels lives in a few lines of memory, not in a hundred."""
    x, out = torch.randn(64), torch.zeros(64)

    def chain() -> None:
        value = x
        for _ in range(100):
            value = value * 1.01
        out.copy_(value)

    recording = record("g", [job("chain", "test:1", chain)], [out])
    kernels = compacted(recording.kernels, recording.intermediates)
    blocks = {
        t.untyped_storage().data_ptr(): t.untyped_storage().nbytes()
        for k in kernels
        for t in k.arguments
        if isinstance(t, torch.Tensor)
    }
    assert sum(blocks.values()) <= (64 * 4) * 2 + (64 * 4) * 2


REFUSED = {
    "a value read back": (lambda: torch.ones(3).sum().item(), "gives a value to Python"),
    "a size from data": (lambda: torch.ones(3).nonzero(), "depends on data"),
    "a mask as an index": (
        lambda: torch.ones(3)[torch.tensor([True, False, True])],
        "depends on data",
    ),
    "random numbers": (lambda: torch.rand(3), "random numbers"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_a_graph_cannot_hold_is_refused(name: str, replayer: Replayer) -> None:
    """The message names the phase, its line, the capture, and why."""
    body, reason = REFUSED[name]
    with pytest.raises(CaptureError) as caught:
        capture("g", "test:1", [job("bad", "test.spec:7", body)], [], replayer)
    assert "test.spec:7: `bad` failed while it was captured in `g`" in str(caught.value)
    assert reason in str(caught.value)


def test_a_failed_capture_leaves_buffers_alone(replayer: Replayer) -> None:
    """What was written before the failure is put back."""
    kept = torch.arange(3.0)

    def body() -> None:
        kept.add_(1)
        raise RuntimeError("boom")

    with pytest.raises(CaptureError):
        capture("g", "test:1", [job("bad", "test:1", body)], [kept], replayer)
    assert kept.tolist() == [0, 1, 2]


def test_a_kernel_that_fails_in_a_replay_says_so(replayer: Replayer) -> None:
    """An index that is out of range at replay is an error of the replay, not silence."""
    place, out = torch.tensor([0]), torch.zeros(1)
    table = torch.arange(4.0)

    def body() -> None:
        torch.index_select(table, 0, place, out=out)

    graph = capture("g", "test:1", [job("look up", "test:1", body)], [out], replayer)
    place.fill_(9)
    with pytest.raises((RuntimeError, IndexError), match="out of range"):
        graph.replay()
