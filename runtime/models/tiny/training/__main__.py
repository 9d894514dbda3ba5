"""Train the tiny model from nothing: corpus, tokenizer, held-out prompts, weights, report."""

from __future__ import annotations

import sys
from dataclasses import asdict
from typing import Any

from plait.runtime.models.checkpoint import HELD_OUT, TOKENIZER
from plait.runtime.models.tiny.shape import Shape
from plait.runtime.models.tiny.training.prompts import as_jsonl, held_out_prompts
from plait.runtime.models.tiny.training.train import evaluate, train
from plait.runtime.models.tokenizer import Tokenizer
from plait.runtime.models.training.corpus import standard_library
from plait.runtime.models.training.making import asked, progress_of, tokens_of, write


def main(arguments: list[str] | None = None) -> int:
    options, plan = asked("tiny", 6000, ": about 80 minutes", arguments)
    shape = Shape()
    corpus = standard_library(options.files)
    words = options.out / TOKENIZER
    tokenizer = Tokenizer.train([text for _, text in corpus.train], shape.vocab - 1)
    tokenizer.save(words)
    prompts = as_jsonl(held_out_prompts(corpus, tokenizer))
    (options.out / HELD_OUT).write_text(prompts, encoding="utf-8")
    tokens = tokens_of(corpus.train, tokenizer, shape.bos)
    network = train(shape, plan, tokens, progress_of(plan))
    held_out = tokens_of(corpus.held_out, tokenizer, shape.bos)

    def found() -> dict[str, Any]:
        return asdict(evaluate(network, held_out, plan))

    write(options.out, shape, plan, options.threads, corpus, words, network, found)
    return 0


if __name__ == "__main__":
    sys.exit(main())
