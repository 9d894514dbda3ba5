"""Whether an engine could serve a prompt at all."""

from __future__ import annotations

import math

from plait.runtime.eagle.request import RequestError
from plait.runtime.engine.decoder import Checks, Decoder
from plait.runtime.engine.prompt import Prompt
from plait.runtime.engine.reported import likeliest, told_of


def check_prompt(prompt: Prompt, decoder: Decoder, decodes: bool) -> None:
    """Raises RequestError for one that no engine could serve, or none over this decoder."""
    tokens, most = prompt.tokens, prompt.most
    if not tokens:
        raise RequestError("a prompt without tokens: give at least the one that opens a text")
    if most < 1:
        raise RequestError(f"{most} new tokens: ask for at least one")
    if len(tokens) + most > decoder.context:
        raise RequestError(
            f"a prompt of {len(tokens)} tokens that asks for {most} more; the context is "
            f"{decoder.context}: shorten it, or ask for fewer new tokens"
        )
    if wrong := [token for token in tokens if not 0 <= token < decoder.vocab]:
        raise RequestError(f"token {wrong[0]}: there are tokens 0 to {decoder.vocab - 1}")
    if prompt.stop_texts and not decodes:
        raise RequestError(
            "stop texts: this engine has no `decode`, so it knows tokens only; give stop tokens"
        )
    _check_numbers(prompt)
    if isinstance(decoder, Checks):
        decoder.check(prompt)
    most = likeliest(decoder.schedule)
    if prompt.logprobs is not None and not 0 <= prompt.logprobs <= (-1 if most is None else most):
        raise RequestError(
            f"log probabilities of the {prompt.logprobs} likeliest tokens: {decoder.schedule.source.name} "
            f"gives {told_of(most)}: ask for what it gives, or for none"
        )


def _check_numbers(prompt: Prompt) -> None:
    """Raises RequestError for a number that no token could be drawn by, or that is no time."""
    sampling = prompt.sampling
    if not math.isfinite(sampling.temperature):
        raise RequestError(f"a temperature of {sampling.temperature}: should be a number, from 0")
    if not 0 <= sampling.top_p <= 1:
        raise RequestError(f"top_p {sampling.top_p}: should be a share, from 0 to 1")
    if not 0 <= sampling.top_k < 1 << 63:
        raise RequestError(f"top_k {sampling.top_k}: should be from 0, which is all of them")
    if not -(1 << 63) <= sampling.seed < 1 << 63:
        raise RequestError(f"a seed of {sampling.seed}: should be from -2^63 up to 2^63 - 1")
    if prompt.deadline is not None and math.isnan(prompt.deadline):
        raise RequestError("a deadline of nan: should be seconds, or None for any time")
