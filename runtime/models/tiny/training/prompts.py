"""The held-out prompts: chosen by rule from files that training never sees, before any training."""

from __future__ import annotations

import hashlib
import json
import re

from plait.runtime.models.tokenizer import Tokenizer
from plait.runtime.models.training.corpus import Corpus

COUNT = 16
TOKENS = 48
OPENING = re.compile(r"^ *(?:def|class) ", re.MULTILINE)


def held_out_prompts(corpus: Corpus, tokenizer: Tokenizer) -> list[dict[str, str]]:
    """One prompt a file: 48 tokens from the first definition of the file's second half."""
    prompts = []
    by_hash = sorted(corpus.held_out, key=lambda file: hashlib.sha256(file[0].encode()).digest())
    for name, text in by_hash:
        opening = OPENING.search(text, len(text) // 2)
        if opening is None:
            continue
        ids = tokenizer.encode(text[opening.start() : opening.start() + 2000])
        prompts.append({"prompt": tokenizer.decode(ids[:TOKENS]).strip(), "source": name})
    return prompts[:COUNT]


def as_jsonl(prompts: list[dict[str, str]]) -> str:
    return "".join(json.dumps(prompt, ensure_ascii=False) + "\n" for prompt in prompts)
