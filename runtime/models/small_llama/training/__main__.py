"""Train the small Llama from nothing, on the corpus and tokenizer of the tiny model: weights, report."""

from __future__ import annotations

import argparse
import hashlib
import json
import platform
import sys
from pathlib import Path

import torch

from plait.runtime.models.small_llama.shape import Shape
from plait.runtime.models.small_llama.training.train import evaluate, train
from plait.runtime.models.tiny.checkpoint import REPORT, SHIPPED, TOKENIZER, WEIGHTS, kept, save
from plait.runtime.models.tiny.training.corpus import standard_library
from plait.runtime.models.tiny.training.train import Plan
from plait.runtime.models.tokenizer import Tokenizer

STEPS = 1500


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m plait.runtime.models.small_llama.training")
    parser.add_argument("--out", type=Path, required=True, help="folder for all that is made")
    parser.add_argument("--steps", type=int, default=STEPS, help=f"default {STEPS}")
    parser.add_argument("--batch", type=int, default=Plan.batch, help=f"default {Plan.batch}")
    parser.add_argument(
        "--length", type=int, default=Plan.length, help=f"tokens a sequence, default {Plan.length}"
    )
    parser.add_argument("--files", type=int, help="only so many files of the corpus, for a trial")
    parser.add_argument("--threads", type=int, default=1, help="part of what decides the bytes")
    options = parser.parse_args(arguments)
    torch.set_num_threads(options.threads)
    options.out.mkdir(parents=True, exist_ok=True)

    shape = Shape()
    plan = Plan(options.steps, options.batch, options.length)
    corpus = standard_library(options.files)
    data = (SHIPPED / TOKENIZER).read_bytes()
    tokenizer = Tokenizer.from_bytes(data)

    def tokens(files: tuple[tuple[str, str], ...]) -> torch.Tensor:
        encoded = tokenizer.encode_all([text for _, text in files])
        return torch.tensor([token for ids in encoded for token in [shape.bos, *ids]])

    def progress(step: int, loss: float, seconds: float) -> None:
        if step % 50 == 49 or step + 1 == plan.steps:
            print(f"step {step + 1}/{plan.steps}  {seconds:.0f}s  loss {loss:.3f}", flush=True)

    network = train(shape, plan, tokens(corpus.train), progress)
    made = {
        "shape": shape.as_dict(),
        "plan": plan.as_dict(),
        "threads": options.threads,
        "corpus_sha256": corpus.sha256(),
        "python": platform.python_version(),
        "torch": torch.__version__,
    }
    save(options.out / WEIGHTS, network.state_dict(), made)
    network.load_state_dict({k: v.float() for k, v in kept(network.state_dict()).items()})
    made["held_out"] = {"loss": evaluate(network, tokens(corpus.held_out), plan)}
    made["sha256"] = {
        WEIGHTS: hashlib.sha256((options.out / WEIGHTS).read_bytes()).hexdigest(),
        TOKENIZER: hashlib.sha256(data).hexdigest(),
    }
    (options.out / REPORT).write_text(json.dumps(made, indent=2) + "\n", encoding="utf-8")
    print(json.dumps(made["held_out"]), f"sha256 {made['sha256'][WEIGHTS]}", sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
