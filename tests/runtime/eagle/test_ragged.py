"""Ragged verify: what each request verifies is its own matter, and what it is given is plain decoding's."""

from __future__ import annotations

from random import Random

import pytest
import torch

from plait.cli import main
from plait.runtime.devices.adversary.device import Adversary
from plait.runtime.eagle.paged import Ragged
from plait.runtime.eagle.ragged import PagedRagged, unpacked
from plait.runtime.models.tiny.checkpoint import load_checkpoint
from soak.joining import Joining, Texts, example

pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture(scope="module")
def texts() -> Texts:
    return Texts(load_checkpoint(), 8)


@pytest.mark.parametrize("variant", [{}, {"num_steps": 1}])
def test_tokens_and_logits_are_those_of_plain_decoding(variant, texts) -> None:
    """In exact mode, bit for bit, with fewer rows than requests times the most."""
    joining = Joining(example("service_ragged", capture=False, **variant), texts)
    decoder = joining.decoder
    assert isinstance(decoder, Ragged)
    for count in (1, 5, 13):
        assert joining.run(count, "ragged") == []
    verified, requests = sum(decoder.verified.values()), sum(decoder.live_rows.values())
    assert requests < verified < requests * decoder.rows
    joining.close()


def test_graphs_give_the_same(texts) -> None:
    """The verify of a tier is one graph, of as many rows as the tier has."""
    schedule = example("service_ragged", num_steps=2, buckets=[4], tiers=[6, 12])
    joining = Joining(schedule, texts)
    assert joining.run(4, "graphs") == []
    counts = [bucket for bucket in joining.decoder.runner.counts() if bucket["rounds"]]
    assert {bucket["graphs"]["verify"]["rows"] for bucket in counts} == {6, 12}
    for bucket in counts:
        assert bucket["lost"] == []
        assert bucket["graphs"]["verify"]["rows"] == bucket["sizes"]["tokens"]
        assert bucket["graphs"]["verify"]["replays"] == bucket["rounds"]
    joining.close()


@pytest.mark.parametrize("seed", range(2))
def test_the_adversary_gives_the_same(seed, texts) -> None:
    """Whatever interleaving the schedule allows, and whatever lies in rows that are nobody's."""
    schedule = example("service_ragged", capture=False, buckets=[4], tiers=[8, 16])
    joining = Joining(schedule, texts, Adversary(seed))
    assert joining.run(3, seed) == []
    joining.close()


@pytest.mark.parametrize("seed", range(20))
def test_rows_are_packed_and_unpacked(seed: int) -> None:
    """Request by request, each row once; rows behind the last are those of one request more."""
    chance = Random(seed)
    lens = [chance.randint(1, 4) for _ in range(chance.randint(1, 5))] + [0] * chance.randint(0, 3)
    rows = [(request, depth) for request, length in enumerate(lens) for depth in range(length)]
    tier = len(rows) + chance.randint(0, 6)
    owner, depth = torch.empty(tier, dtype=torch.int64), torch.empty(tier, dtype=torch.int64)
    PagedRagged.layout(torch.tensor(lens), owner, depth)
    found = list(zip(owner.tolist(), depth.tolist(), strict=True))
    assert found == rows + [(len(lens), 0)] * (tier - len(rows))
    by_request = unpacked(torch.arange(tier), torch.tensor(lens), 4).tolist()
    for request, length in enumerate(lens):
        own = [place for place, row in enumerate(rows) if row[0] == request]
        assert by_request[request][:length] == own


def test_a_run_says_its_tiers(root, capsys) -> None:
    """Requests and rows of each bucket, and plain decoding's tokens."""
    asked = ["--no-capture", "--max-new-tokens", "6", "--prompt", "The sea", "--prompt", "A"]
    assert main(["run", str(root / "examples" / "service_ragged.spec"), *asked]) == 0
    said = capsys.readouterr().out
    assert "identical to plain: yes" in said
    assert "2/8 (" in said
