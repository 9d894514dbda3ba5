"""Train the small Llama from nothing, on the corpus and tokenizer of the tiny model: weights, report."""

from __future__ import annotations

import sys

from plait.runtime.models.checkpoint import TOKENIZER
from plait.runtime.models.small_llama.shape import Shape
from plait.runtime.models.small_llama.training.train import evaluate, train
from plait.runtime.models.tiny.checkpoint import SHIPPED
from plait.runtime.models.tokenizer import Tokenizer
from plait.runtime.models.training.corpus import standard_library
from plait.runtime.models.training.making import asked, progress_of, tokens_of, write


def main(arguments: list[str] | None = None) -> int:
    options, plan = asked("small_llama", 1500, "", arguments)
    shape = Shape()
    corpus = standard_library(options.files)
    words = SHIPPED / TOKENIZER
    tokenizer = Tokenizer.from_bytes(words.read_bytes())
    tokens = tokens_of(corpus.train, tokenizer, shape.bos)
    network = train(shape, plan, tokens, progress_of(plan))
    held_out = tokens_of(corpus.held_out, tokenizer, shape.bos)

    def found() -> dict[str, float]:
        return {"loss": evaluate(network, held_out, plan)}

    write(options.out, shape, plan, options.threads, corpus, words, network, found)
    return 0


if __name__ == "__main__":
    sys.exit(main())
