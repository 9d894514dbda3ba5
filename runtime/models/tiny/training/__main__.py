"""Train the tiny model from nothing: corpus, tokenizer, held-out prompts, weights, report."""

from __future__ import annotations

import argparse
import hashlib
import json
import platform
import sys
from dataclasses import asdict
from pathlib import Path

import torch

from plait.runtime.models.tiny.checkpoint import HELD_OUT, REPORT, TOKENIZER, WEIGHTS, kept, save
from plait.runtime.models.tiny.shape import Shape
from plait.runtime.models.tiny.training.corpus import standard_library
from plait.runtime.models.tiny.training.prompts import as_jsonl, held_out_prompts
from plait.runtime.models.tiny.training.train import Plan, evaluate, train
from plait.runtime.models.tokenizer import Tokenizer


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m plait.runtime.models.tiny.training")
    parser.add_argument("--out", type=Path, required=True, help="folder for all that is made")
    parser.add_argument("--steps", type=int, default=6000, help="default 6000: about 80 minutes")
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
    tokenizer = Tokenizer.train([text for _, text in corpus.train], shape.vocab - 1)
    tokenizer.save(options.out / TOKENIZER)
    prompts = as_jsonl(held_out_prompts(corpus, tokenizer))
    (options.out / HELD_OUT).write_text(prompts, encoding="utf-8")

    def progress(step: int, losses: list[float], seconds: float) -> None:
        if step % 50 == 49 or step + 1 == plan.steps:
            shown = " ".join(f"{loss:.3f}" for loss in losses)
            print(f"step {step + 1}/{plan.steps}  {seconds:.0f}s  loss {shown}", flush=True)

    network = train(shape, plan, _tokens(corpus.train, tokenizer, shape), progress)
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
    report = evaluate(network, _tokens(corpus.held_out, tokenizer, shape), plan)
    made["held_out"] = asdict(report)
    made["sha256"] = {
        name: hashlib.sha256((options.out / name).read_bytes()).hexdigest()
        for name in (WEIGHTS, TOKENIZER)
    }
    (options.out / REPORT).write_text(json.dumps(made, indent=2) + "\n", encoding="utf-8")
    print(json.dumps(made["held_out"]), f"sha256 {made['sha256'][WEIGHTS]}", sep="\n")
    return 0


def _tokens(files: tuple[tuple[str, str], ...], tokenizer: Tokenizer, shape: Shape) -> torch.Tensor:
    encoded = tokenizer.encode_all([text for _, text in files])
    return torch.tensor([token for ids in encoded for token in [shape.bos, *ids]])


if __name__ == "__main__":
    sys.exit(main())
