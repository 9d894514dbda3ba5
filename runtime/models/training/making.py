"""What a training is asked for on the command line, and the folder that comes of it."""

from __future__ import annotations

import argparse
import hashlib
import json
import platform
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from plait.runtime.models.checkpoint import REPORT, TOKENIZER, WEIGHTS, kept, save
from plait.runtime.models.sizes import Sizes
from plait.runtime.models.tokenizer import Tokenizer
from plait.runtime.models.training.corpus import Corpus
from plait.runtime.models.training.descent import Progress
from plait.runtime.models.training.plan import Plan


def asked(
    model: str, steps: int, about: str, arguments: list[str] | None
) -> tuple[argparse.Namespace, Plan]:
    """With the threads that are asked for set, and the folder there."""
    parser = argparse.ArgumentParser(prog=f"python -m plait.runtime.models.{model}.training")
    parser.add_argument("--out", type=Path, required=True, help="folder for all that is made")
    parser.add_argument("--steps", type=int, default=steps, help=f"default {steps}{about}")
    parser.add_argument("--batch", type=int, default=Plan.batch, help=f"default {Plan.batch}")
    parser.add_argument(
        "--length", type=int, default=Plan.length, help=f"tokens a sequence, default {Plan.length}"
    )
    parser.add_argument("--files", type=int, help="only so many files of the corpus, for a trial")
    parser.add_argument("--threads", type=int, default=1, help="part of what decides the bytes")
    options = parser.parse_args(arguments)
    torch.set_num_threads(options.threads)
    options.out.mkdir(parents=True, exist_ok=True)
    return options, Plan(options.steps, options.batch, options.length)


def tokens_of(files: tuple[tuple[str, str], ...], tokenizer: Tokenizer, bos: int) -> Tensor:
    """All in one, `i64[n]`."""
    encoded = tokenizer.encode_all([text for _, text in files])
    return torch.tensor([token for ids in encoded for token in [bos, *ids]])


def progress_of(plan: Plan) -> Progress:
    def progress(step: int, losses: list[float], seconds: float) -> None:
        if step % 50 == 49 or step + 1 == plan.steps:
            shown = " ".join(f"{loss:.3f}" for loss in losses)
            print(f"step {step + 1}/{plan.steps}  {seconds:.0f}s  loss {shown}", flush=True)

    return progress


def write(
    out: Path,
    shape: Sizes,
    plan: Plan,
    threads: int,
    corpus: Corpus,
    tokenizer: Path,
    network: nn.Module,
    evaluate: Callable[[], dict[str, Any]],
) -> None:
    """Weights and report; what they are worth is evaluated with what is kept of them."""
    made: dict[str, Any] = {
        "shape": shape.as_dict(),
        "plan": plan.as_dict(),
        "threads": threads,
        "corpus_sha256": corpus.sha256(),
        "python": platform.python_version(),
        "torch": torch.__version__,
    }
    save(out / WEIGHTS, network.state_dict(), made)
    network.load_state_dict({k: v.float() for k, v in kept(network.state_dict()).items()})
    made["held_out"] = evaluate()
    files = {WEIGHTS: out / WEIGHTS, TOKENIZER: tokenizer}
    made["sha256"] = {
        name: hashlib.sha256(file.read_bytes()).hexdigest() for name, file in files.items()
    }
    (out / REPORT).write_text(json.dumps(made, indent=2) + "\n", encoding="utf-8")
    print(json.dumps(made["held_out"]), f"sha256 {made['sha256'][WEIGHTS]}", sep="\n")
