"""The second model: its checkpoint, training and inference, in both arithmetics."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest
import torch

from plait.runtime.models.arithmetic import Mode
from plait.runtime.models.checkpoint import CheckpointError
from plait.runtime.models.shipped import load
from plait.runtime.models.small_llama.checkpoint import SHIPPED, LlamaCheckpoint, load_checkpoint
from plait.runtime.models.small_llama.model import SmallLlama
from plait.runtime.models.small_llama.shape import Shape
from plait.runtime.models.small_llama.training.__main__ import main
from plait.runtime.models.small_llama.training.network import Network


@pytest.fixture(scope="module")
def checkpoint() -> LlamaCheckpoint:
    return load_checkpoint()


@pytest.fixture(scope="module")
def text(checkpoint: LlamaCheckpoint) -> torch.Tensor:
    """Two held-out prompts as `i64[2, 40]`."""
    ids = checkpoint.tokenizer.encode_all(list(checkpoint.prompts[:2]))
    return torch.tensor([[checkpoint.shape.bos, *one][:40] for one in ids])


@torch.no_grad()
def logits_of(model: SmallLlama, tokens: torch.Tensor, parts: list[int]) -> torch.Tensor:
    """Of all positions, so many at a time."""
    planner, cache = model.planner(64), model.target_cache(len(tokens), 64)
    found, start = [], 0
    for part in parts:
        plan = planner.of(torch.arange(start, start + part).expand(len(tokens), part))
        states = model.target(tokens[:, start : start + part], plan, cache)
        found.append(model.logits(states))
        start += part
    return torch.cat(found, 1)


def test_the_checkpoint_is_small_and_what_its_report_says() -> None:
    """Under 4 MB, with the digests, the corpus and the held-out loss on record."""
    report = json.loads((SHIPPED / "report.json").read_text(encoding="utf-8"))
    weights = (SHIPPED / "weights.safetensors").read_bytes()
    assert len(weights) <= 4_000_000
    assert report["sha256"]["weights.safetensors"] == hashlib.sha256(weights).hexdigest()
    assert report["held_out"]["loss"] < 3.6
    card = (SHIPPED / "CARD.md").read_text(encoding="utf-8")
    assert report["sha256"]["weights.safetensors"] in card and report["corpus_sha256"] in card


def test_inference_is_what_was_trained(checkpoint: LlamaCheckpoint, text: torch.Tensor) -> None:
    """The same function as the training network: to rounding in f32, to the grid in exact."""
    network = Network(checkpoint.shape)
    network.load_state_dict({name: one.float() for name, one in checkpoint.weights.items()})
    with torch.no_grad():
        trained = network.eval()(text)
    bounds: dict[Mode, float] = {"f32": 1e-4, "exact": 2e-2}
    for mode, bound in bounds.items():
        found = logits_of(checkpoint.model(mode, checked=True), text, [40])
        assert (found - trained).abs().max() < bound


def test_no_bit_depends_on_how_rows_are_run(
    checkpoint: LlamaCheckpoint, text: torch.Tensor
) -> None:
    """Exact: one by one, a few at a time, all at once, alone or beside another."""
    model = checkpoint.model("exact", checked=True)
    whole = logits_of(model, text, [40])
    for parts in ([1] * 6 + [34], [13, 1, 26], [4] * 10):
        assert torch.equal(logits_of(model, text, parts), whole)
    assert torch.equal(logits_of(model, text[1:], [40]), whole[1:])


def test_four_steps_twice_give_the_same_bytes(tmp_path: Path) -> None:
    """Same machine and threads: same weights and report, which load by their folder."""
    for name in ("one", "two"):
        small = ["--steps", "4", "--batch", "1", "--length", "64", "--files", "20"]
        assert main(["--out", str(tmp_path / name), *small]) == 0
    for name in ("report.json", "weights.safetensors"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()
    found = load(str(tmp_path / "one"))
    assert isinstance(found, LlamaCheckpoint) and found.report["plan"]["steps"] == 4


def test_what_is_no_checkpoint_of_it_is_refused(
    tmp_path: Path, checkpoint: LlamaCheckpoint
) -> None:
    """Sizes that do not belong together, and weights that are not those of the report."""
    sizes = checkpoint.shape.as_dict()
    for wrong, says in (
        ({"head": 31}, "head is 31; it is even, for pairs are rotated"),
        ({"key_heads": 3}, "heads is 4, which 3 heads of keys cannot share"),
        ({"layers": 0}, "layers is 0; it is a whole number from 1 to 1,048,576"),
        ({"experts": 8}, "a shape has the sizes context, gated, head, heads, hidden"),
    ):
        with pytest.raises(ValueError, match=says):
            Shape.from_dict({**sizes, **wrong})
    for name in ("report.json", "weights.safetensors"):
        (tmp_path / name).write_bytes((SHIPPED / name).read_bytes())
    with (tmp_path / "weights.safetensors").open("r+b") as file:
        file.seek(-1, 2)
        file.write(b"\x7f")
    with pytest.raises(CheckpointError, match="weights.safetensors: is damaged"):
        load(str(tmp_path))
