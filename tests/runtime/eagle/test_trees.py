"""Every schedule of the service's trees decodes as plain decoding does, whoever joins and leaves."""

from __future__ import annotations

from itertools import product

import pytest
import torch

from plait.runtime.devices.adversary.device import Adversary
from plait.runtime.devices.replayers import VARIABLE, here
from plait.runtime.devices.tiers import NotHere
from plait.runtime.eagle import decoder, tree_nodes
from plait.runtime.eagle.tree import PagedTree
from plait.runtime.models.tiny.checkpoint import load_checkpoint
from soak.joining import Joining, Texts, schedule

pytestmark = pytest.mark.usefixtures("one_thread")

STEPS, TOPK, COUNTS = range(5), range(1, 5), (1, 2, 3, 5, 8, 13, 16)
# Every pair of values of two of them. The whole grid, captured, is in tests/soak/joining.py.
GRID = {
    (steps, topk): [c for i, c in enumerate(COUNTS) if (steps + i) % len(TOPK) == topk - 1]
    for steps, topk in product(STEPS, TOPK)
}


@pytest.fixture(scope="module")
def texts() -> Texts:
    return Texts(load_checkpoint(), 8)


@pytest.mark.parametrize(("steps", "topk"), GRID)
def test_tokens_and_logits_are_those_of_plain_decoding(steps, topk, texts) -> None:
    """In exact mode, bit for bit, with requests that join and leave at random."""
    joining = Joining(schedule(steps, topk, capture=False), texts)
    for count in GRID[steps, topk]:
        assert joining.run(count, "ci") == []
    accepted = joining.close()
    assert all(1 <= tokens <= steps + 1 for tokens in accepted)


def test_the_grid_has_every_pair() -> None:
    """Of steps, candidates a step, and requests."""
    rows = [(*key, count) for key, counts in GRID.items() for count in counts]
    values = (STEPS, TOPK, COUNTS)
    for one, other in ((0, 1), (0, 2), (1, 2)):
        pairs = {(row[one], row[other]) for row in rows}
        assert pairs == set(product(values[one], values[other]))


def nothing(self, path, accepted, seq_lens, pages, target_kv, rows_hidden) -> None:
    """Compacts nothing."""


WRONG = {
    "the path is not brought together": (PagedTree, "compact", nothing),
    "a node sees all others": (
        tree_nodes,
        "ancestors",
        lambda p: torch.ones(*p.shape, p.shape[1]) > 0,
    ),
    "no pages behind the last token": (decoder, "ahead_of", lambda schedule: 0),
}


@pytest.mark.parametrize("what", WRONG)
def test_what_is_wrong_is_found(what, texts, monkeypatch) -> None:
    """Each thing that a tree needs beyond a chain, left out."""
    monkeypatch.setattr(*WRONG[what])
    joining = Joining(schedule(3, 2, capture=False), texts)
    assert any(joining.run(count, 1) for count in (3, 8, 16))
    joining.close()


@pytest.mark.parametrize("kind", ["native", "interpreter"])
def test_graphs_give_the_same(kind, texts, monkeypatch) -> None:
    """On each way to replay: draft, verify, compaction and extend are graphs, and none is lost."""
    if isinstance(here(kind), NotHere):
        pytest.skip(f"no {kind} replay here")
    monkeypatch.setenv(VARIABLE, kind)
    joining = Joining(schedule(3, 2, buckets=[4]), texts)
    assert joining.run(4, kind) == []
    (bucket,) = joining.decoder.runner.counts()
    assert bucket["lost"] == []
    assert bucket["graphs"]["draft"]["phases"] == [
        *("first", "spread", "nextn[1]", "descend[2]", "nextn[2]", "choose")
    ]
    assert bucket["graphs"]["extend"]["phases"] == ["compact", "nextn_extend"]
    assert all(graph["replays"] == bucket["rounds"] for graph in bucket["graphs"].values())
    joining.close()


@pytest.mark.parametrize("seed", range(3))
def test_the_adversary_gives_the_same(seed, texts) -> None:
    """Whatever interleaving the schedule allows, and whatever lies in rows that only pad."""
    joining = Joining(schedule(3, 2, buckets=[4]), texts, Adversary(seed))
    assert joining.run(3, seed) == []
    joining.close()


def test_a_tree_accepts_more_than_a_chain(texts) -> None:
    """Two candidates a step against one, at three steps, over the same requests."""
    committed = {}
    for topk in (1, 2):
        joining = Joining(schedule(3, topk, capture=False), texts)
        assert joining.run(8, "accepting") == []
        accepted = joining.close()
        rounds = sum(accepted.values())
        committed[topk] = sum(tokens * times for tokens, times in accepted.items()) / rounds
    assert committed[2] > committed[1] > 1.5
