"""A checkpoint folder: weights, tokenizer, held-out prompts, and the report of how they were made.

Weights are bfloat16 tensors in safetensors; the report has the SHA-256 of weights and tokenizer, and
a folder in which they differ is refused before anything is computed from it.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

import torch
from safetensors import SafetensorError
from safetensors.torch import load, save_file
from torch import Tensor

from plait.runtime.models.arithmetic import BoundError
from plait.runtime.models.tokenizer import Tokenizer

WEIGHTS = "weights.safetensors"
TOKENIZER = "tokenizer.json"
HELD_OUT = "held_out.jsonl"
REPORT = "report.json"
LARGEST = 1 << 26
"""Bytes of a file. The shipped weights have under 4 MB."""
KEY = "plait"
"""The one metadata key. With two, safetensors writes them in an order of its own each time."""


class Opened(Protocol):
    """A shape, as far as it is read here."""

    @property
    def bos(self) -> int: ...


S = TypeVar("S", bound=Opened)


class CheckpointError(Exception):
    """A checkpoint that cannot be used: which file, what is wrong, what to do."""


@dataclass(frozen=True)
class Trained(Generic[S]):
    """All that a folder has of a model."""

    shape: S
    weights: dict[str, Tensor]
    tokenizer: Tokenizer
    prompts: tuple[str, ...]
    """Held out from training."""
    report: dict[str, Any]


@contextmanager
def fitting() -> Iterator[None]:
    """Raises CheckpointError for weights that a model cannot be made of."""
    try:
        yield
    except (KeyError, RuntimeError, BoundError) as error:
        raise CheckpointError(f"{WEIGHTS}: does not fit the model ({error})") from None


def read(
    folder: Path,
    shape_of: Callable[[object], S],
    weights_of: Callable[[S], Iterable[tuple[str, tuple[int, ...]]]],
    words: Path,
) -> tuple[S, dict[str, Tensor], Tokenizer, tuple[str, ...], dict[str, Any]]:
    """Shape, weights, tokenizer, prompts and report; tokenizer and prompts lie in the folder `words`.

    Raises CheckpointError.
    """
    report = report_of(folder)
    weights = _read(folder, WEIGHTS)
    tokenizer = _read(words, TOKENIZER)
    for path, data in ((folder / WEIGHTS, weights), (words / TOKENIZER, tokenizer)):
        digests = report.get("sha256")
        there = digests.get(path.name) if isinstance(digests, dict) else None
        found = hashlib.sha256(data).hexdigest()
        if found != there:
            raise CheckpointError(
                f"{path}: is damaged, or not the file that {REPORT} describes: its SHA-256 "
                f"is {found[:12]}..., not {str(there)[:12]}...; install Plait again, or make the "
                "checkpoint again"
            )
    try:
        shape = shape_of(report.get("shape"))
    except ValueError as error:
        raise CheckpointError(f"{folder / REPORT}: {error}") from None
    try:
        tensors = load(weights)
    except SafetensorError as error:
        raise CheckpointError(f"{folder / WEIGHTS}: is no file of weights ({error})") from None
    if what := _misfit(weights_of(shape), tensors):
        raise CheckpointError(f"{folder / WEIGHTS}: does not fit the shape in {REPORT}: {what}")
    if odd := next((name for name, one in tensors.items() if not one.isfinite().all()), None):
        raise CheckpointError(
            f"{folder / WEIGHTS}: `{odd}` has NaN or an infinity in it, of which no token follows: make the "
            "checkpoint again"
        )
    return shape, tensors, _tokenizer(words, tokenizer, shape.bos), _prompts(words), report


def report_of(folder: Path) -> dict[str, Any]:
    """What the folder says of how it was made. Raises CheckpointError."""
    return _json(folder, REPORT, _read(folder, REPORT))


def _misfit(
    wanted: Iterable[tuple[str, tuple[int, ...]]], weights: Mapping[str, Tensor]
) -> str | None:
    """The first weight that is missing, of other sizes or not wanted, in words; None when all fit."""
    strange = set(weights)
    for name, expected in wanted:
        if name not in weights:
            return f"it has no `{name}`"
        strange.discard(name)
        tensor = weights[name]
        if tuple(tensor.shape) != expected or not tensor.is_floating_point():
            kind = f"{str(tensor.dtype).removeprefix('torch.')}{list(tensor.shape)}"
            return f"`{name}` is {kind}, not of numbers {list(expected)}"
    return f"`{min(strange)}` is no weight of this shape" if strange else None


def _tokenizer(folder: Path, data: bytes, bos: int) -> Tokenizer:
    try:
        found = Tokenizer.from_bytes(data)
    except ValueError as error:
        raise CheckpointError(f"{folder / TOKENIZER}: is no tokenizer ({error})") from None
    if found.size > bos:
        raise CheckpointError(
            f"{folder / TOKENIZER}: has {found.size} tokens; the model has {bos} and one of its own"
        )
    return found


def _prompts(folder: Path) -> tuple[str, ...]:
    try:
        lines = _read(folder, HELD_OUT).decode("utf-8").split("\n")
    except UnicodeDecodeError as error:
        raise CheckpointError(f"{folder / HELD_OUT}: is not UTF-8 ({error.reason})") from None
    found = [_json(folder, HELD_OUT, line.encode()).get("prompt") for line in lines if line.strip()]
    if not found or not all(isinstance(prompt, str) for prompt in found):
        raise CheckpointError(
            f'{folder / HELD_OUT}: should hold a line or more of {{"prompt": a text}}'
        )
    return tuple(str(prompt) for prompt in found)


def _read(folder: Path, name: str) -> bytes:
    if (folder / name).is_fifo():  # nobody may ever write to it
        raise CheckpointError(f"{folder / name}: is no file")
    try:
        with (folder / name).open("rb") as file:
            data = file.read(LARGEST + 1)
    except OSError as error:
        raise CheckpointError(f"{folder / name}: cannot be read ({error.strerror})") from None
    if len(data) > LARGEST:
        raise CheckpointError(f"{folder / name}: has more than {LARGEST:,} bytes")
    return data


def _json(folder: Path, name: str, data: bytes) -> dict[str, Any]:
    try:
        value = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise CheckpointError(f"{folder / name}: is not JSON ({error})") from None
    if not isinstance(value, dict):
        raise CheckpointError(f"{folder / name}: is not a JSON object")
    return value


def kept(state: dict[str, Tensor]) -> dict[str, Tensor]:
    """What a checkpoint keeps of a training state: bfloat16, but for the experts' balance.

    The balance decides between close scores, and eight numbers a layer cost nothing.
    """
    return {
        name: tensor if name.endswith("balance") else tensor.to(torch.bfloat16)
        for name, tensor in state.items()
    }


def save(path: Path, state: dict[str, Tensor], made: dict[str, Any]) -> None:
    """Writes the file whole or not at all; equal arguments write equal bytes."""
    temporary = path.with_name(path.name + ".part")
    tensors = {name: tensor.contiguous() for name, tensor in kept(state).items()}
    save_file(tensors, temporary, metadata={KEY: json.dumps(made, sort_keys=True)})
    temporary.chmod(0o644)  # safetensors makes a file that only its owner can read
    os.replace(temporary, path)
