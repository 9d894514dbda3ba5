"""The embedded model: the shipped checkpoint, its two arithmetics, its parts as phases."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from math import nan
from pathlib import Path

import pytest
import torch

from plait.runtime.models.arithmetic import Arithmetic, BoundError
from plait.runtime.models.checkpoint import CheckpointError, save
from plait.runtime.models.tiny.checkpoint import SHIPPED, Checkpoint, load_checkpoint
from plait.runtime.models.tiny.model import TinyModel
from plait.runtime.models.tiny.training.network import Network
from plait.runtime.models.tiny.weights import wanted
from plait.runtime.models.tokenizer import Tokenizer


@pytest.fixture(scope="module")
def checkpoint() -> Checkpoint:
    return load_checkpoint()


@pytest.fixture(autouse=True)
def no_gradients():
    with torch.no_grad():
        yield


@pytest.fixture(scope="module")
def text(checkpoint: Checkpoint) -> torch.Tensor:
    """Two held-out prompts as `i64[2, 40]`."""
    ids = checkpoint.tokenizer.encode_all(list(checkpoint.prompts[:2]))
    return torch.tensor([[checkpoint.shape.bos, *one][:40] for one in ids])


def hidden_of(model: TinyModel, tokens: torch.Tensor, span: int = 64) -> torch.Tensor:
    batch, length = tokens.shape
    plan = model.planner(span).of(torch.arange(length).expand(batch, length))
    return model.target(tokens, plan, model.target_cache(batch, span))


def test_the_checkpoint_is_small_and_what_its_report_says() -> None:
    """Under 4 MB, with the digests, the corpus and the held-out loss on record."""
    report = json.loads((SHIPPED / "report.json").read_text(encoding="utf-8"))
    weights = (SHIPPED / "weights.safetensors").read_bytes()
    assert len(weights) <= 4_000_000
    assert report["sha256"]["weights.safetensors"] == hashlib.sha256(weights).hexdigest()
    assert report["shape"]["layers"] == 8
    assert report["held_out"]["loss"] < 3.3 and min(report["held_out"]["agreement"]) > 0.5
    card = (SHIPPED / "CARD.md").read_text(encoding="utf-8")
    assert report["sha256"]["weights.safetensors"] in card and report["corpus_sha256"] in card


def test_inference_computes_what_training_did(checkpoint: Checkpoint, text: torch.Tensor) -> None:
    """Cached, absorbed and dense, the logits are those of the network that was trained."""
    network = Network(checkpoint.shape)
    network.load_state_dict({name: w.float() for name, w in checkpoint.weights.items()})
    network.eval()
    model = checkpoint.model("f32")
    hidden = hidden_of(model, text)
    assert torch.allclose(model.logits(hidden), network.logits(network.hidden(text)), atol=2e-4)
    plan = model.planner(64).of(torch.arange(39).expand(2, 39))
    step = model.nextn(hidden[:, :-1], text[:, 1:], plan, model.nextn_cache(2, 64))
    expected = network.step(network.hidden(text)[:, :-1], text[:, 1:])
    assert torch.allclose(model.logits(step), network.logits(expected), atol=2e-4)


def test_exact_is_the_same_bits_whatever_the_shape(
    checkpoint: Checkpoint, text: torch.Tensor
) -> None:
    """One row at a time, all rows at once, alone, in a batch, in another slot, with another span."""
    model = checkpoint.model("exact")
    whole = model.logits(hidden_of(model, text))
    planner, cache = model.planner(96), model.target_cache(3, 96)
    for start in range(0, 40, 3):
        rows = text[:, start : start + 3]
        places = torch.arange(start, start + rows.shape[1]).expand(2, -1)
        few = model.logits(model.target(rows, planner.of(places), cache))
        assert torch.equal(few, whole[:, start : start + 3])
    for number in range(2):
        alone = model.logits(hidden_of(model, text[number : number + 1], span=64))
        assert torch.equal(alone[0], whole[number])
    turned = model.logits(hidden_of(model, text.flip(0)))
    assert torch.equal(turned.flip(0), whole)


def test_exact_is_the_same_bits_whatever_the_threads(
    checkpoint: Checkpoint, text: torch.Tensor
) -> None:
    """Two threads add in another order than one; exact sums do not notice."""
    model = checkpoint.model("exact")
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(1)
        one = model.logits(hidden_of(model, text))
        torch.set_num_threads(2)
        two = model.logits(hidden_of(model, text))
    finally:
        torch.set_num_threads(before)
    assert torch.equal(one, two)


def test_exact_sums_are_exact(checkpoint: Checkpoint, text: torch.Tensor) -> None:
    """A linear of the model equals the same sum in whole numbers, bit for bit."""
    model = checkpoint.model("exact")
    layer = model.layers[0]
    rows = layer.arithmetic.norm(model.tokens(text), layer.attention_norm)
    found = layer.arithmetic.linear(rows, layer.down_weight)
    scale = 2**14
    whole = (rows * scale).to(torch.int64).view(-1, rows.shape[-1])
    weight = (layer.down_weight * scale).to(torch.int64)
    sums = (whole @ weight).to(torch.float64) / scale**2
    shift = 1.5 * 2.0 ** (52 - 14)
    assert torch.equal(found.view(-1, found.shape[-1]), (sums + shift) - shift)


def test_activations_stay_within_the_bounds(checkpoint: Checkpoint, text: torch.Tensor) -> None:
    """The bounds that exactness stands on hold on held-out text, and are noticed when they do not."""
    model = checkpoint.model("exact", checked=True)
    logits = model.logits(hidden_of(model, text))
    assert logits.abs().max() < 2**8
    exact = Arithmetic("exact", checked=True)
    with pytest.raises(BoundError, match="an activation of 256 is not below 256"):
        exact.grid(torch.tensor([256.0], dtype=torch.float64))
    with pytest.raises(BoundError):
        exact.grid(torch.tensor([float("nan")], dtype=torch.float64))
    with pytest.raises(BoundError, match="a weight of 4 is not below 4"):
        exact.weight(torch.tensor([4.0]))


def test_buffers_of_float32_lose_nothing(checkpoint: Checkpoint, text: torch.Tensor) -> None:
    """Hidden states and logits on the grid survive a float32 buffer unchanged."""
    model = checkpoint.model("exact")
    hidden = hidden_of(model, text)
    for value in (hidden, model.logits(hidden)):
        assert torch.equal(value.to(torch.float32).to(torch.float64), value)


LAYER = """\
spec 1
pipeline layer {
  param rows = 12
  stream main
  stream kv if branches else main
  stream side if branches else main
  buffer x      : f64[4, 3, 128] carried
  buffer plan   : opaque
  buffer cache  : opaque carried static
  buffer low    : f64[4, 3, 120]
  buffer query  : f64[4, 3, 4, 56]
  buffer mixed  : f64[4, 3, 128]
  buffer shared : f64[12, 128]
  buffer routed : f64[12, 128]

  phase positions on main { writes plan }
  phase down on main { reads x  writes low }
  fork kv from down
  phase key_value on kv { reads low, plan  updates cache }
  phase query on main { reads low, plan  writes query }
  join kv into main
  phase attend on main { reads x, query, plan, cache  writes mixed }
  fork side from attend
  phase shared_expert on side { reads mixed  writes shared }
  phase routed_experts on main { reads mixed  writes routed }
  join side into main
  phase add on main { reads mixed, shared, routed  writes x }
  join add into host
}
"""


@pytest.mark.parametrize("branches", [False, True])
def test_the_parts_of_a_layer_are_phases(branches: bool, checkpoint: Checkpoint, compiled) -> None:
    """A layer bound branch by branch, key/value and shared expert on streams of their own, same bits."""
    model = checkpoint.model("exact")
    layer = model.layers[0]
    planner = model.planner(64)
    generator = torch.Generator().manual_seed(0)
    start = model.arithmetic.grid(torch.randn(4, 3, 128, generator=generator, dtype=torch.float64))
    plan = planner.empty(4, 3)
    along = torch.arange(3)
    cache = model.nextn_cache(4, 64)[0]
    bodies = {
        "positions": lambda plan: planner.fill(plan, torch.zeros(4, 1, dtype=torch.int64), along),
        "down": lambda x, low: low.copy_(layer.down(x)),
        "key_value": lambda low, plan, cache: layer.key_value(low, plan, cache),
        "query": lambda low, plan, query: query.copy_(layer.query(low, plan)),
        "attend": lambda x, query, plan, cache, mixed: mixed.copy_(
            layer.attend(x, query, plan, cache)
        ),
        "shared_expert": lambda mixed, shared: shared.copy_(layer.shared_expert(mixed)),
        "routed_experts": lambda mixed, routed: routed.copy_(layer.routed_experts(mixed)),
        "add": lambda mixed, shared, routed, x: x.copy_(layer.add(mixed, shared, routed)),
    }
    text = LAYER.replace("param rows = 12", f"param branches = {'true' if branches else 'false'}")
    with compiled(text).bind(bodies, opaque={"plan": plan, "cache": cache}) as runner:
        runner.buffer("x").copy_(start)
        runner.step()
        runner.drain()
        found = runner.buffer("x").clone()
    other = model.nextn_cache(4, 64)[0]
    expected = layer(start, planner.of(along.expand(4, 3)), other)
    assert torch.equal(found, expected) and torch.equal(cache, other)


def test_any_text_survives_the_tokenizer(checkpoint: Checkpoint) -> None:
    """Bytes are the smallest tokens, so nothing is lost, and no text spells the opening token."""
    tokenizer = checkpoint.tokenizer
    for text in ("def f(x):\n    return 验证\t\n", "<bos> \r\n  é", "", "\N{GRINNING FACE}" * 3):
        ids = tokenizer.encode(text)
        assert tokenizer.decode(ids) == text and checkpoint.shape.bos not in ids
    assert isinstance(tokenizer, Tokenizer) and tokenizer.size == checkpoint.shape.bos


DAMAGE = {
    "a bit turned over": (
        "weights.safetensors",
        lambda data: data[:-1] + bytes([data[-1] ^ 1]),
        "damaged",
    ),
    "cut short": ("weights.safetensors", lambda data: data[: len(data) // 2], "damaged"),
    "another tokenizer": (
        "tokenizer.json",
        lambda data: data.replace(b"vocab", b"vocal"),
        "damaged",
    ),
    "a torn report": ("report.json", lambda data: data[:50], "is not JSON"),
    "no weights": ("weights.safetensors", None, "cannot be read (No such file or directory)"),
}


def test_weights_that_are_no_numbers_are_refused(checkpoint: Checkpoint, tmp_path: Path) -> None:
    """Tokens would come of them all the same, the first of all each time."""
    folder = tmp_path / "checkpoint"
    shutil.copytree(SHIPPED, folder)
    weights = folder / "weights.safetensors"
    save(weights, checkpoint.weights | {"embed": checkpoint.weights["embed"] * nan}, {})
    report = json.loads((folder / "report.json").read_text())
    report["sha256"][weights.name] = hashlib.sha256(weights.read_bytes()).hexdigest()
    (folder / "report.json").write_text(json.dumps(report))
    with pytest.raises(CheckpointError, match="`embed` has NaN or an infinity in it"):
        load_checkpoint(folder)


def test_a_checkpoint_that_nobody_writes_is_not_waited_for(tmp_path: Path) -> None:
    """A pipe in its place is refused, since opening it may last for ever."""
    os.mkfifo(tmp_path / "report.json")
    with pytest.raises(CheckpointError, match="report.json: is no file$"):
        load_checkpoint(tmp_path)


@pytest.mark.parametrize("name", DAMAGE)
def test_a_damaged_checkpoint_is_refused(name: str, tmp_path: Path) -> None:
    """One line says which file, before anything is computed from it."""
    folder = tmp_path / "checkpoint"
    shutil.copytree(SHIPPED, folder)
    file, damage, message = DAMAGE[name]
    path = folder / file
    if damage is None:
        path.unlink()
    else:
        path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(CheckpointError) as caught:
        load_checkpoint(folder)
    assert str(path) in str(caught.value) and message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_the_weights_wanted_are_those_that_are_trained(checkpoint: Checkpoint) -> None:
    """Names and sizes of every weight, as the network that is trained has them."""
    network = Network(checkpoint.shape).state_dict()
    assert dict(wanted(checkpoint.shape)) == {name: tuple(w.shape) for name, w in network.items()}
