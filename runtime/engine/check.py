"""Whether an engine could serve a prompt at all."""

from __future__ import annotations

from plait.runtime.eagle.request import RequestError
from plait.runtime.engine.decoder import Checks, Decoder
from plait.runtime.engine.prompt import Prompt
from plait.runtime.engine.reported import likeliest, told_of
from plait.runtime.engine.well_formed import check_well_formed


def check_prompt(prompt: Prompt, decoder: Decoder, decodes: bool) -> None:
    """Raises RequestError for one that no engine could serve, or none over this decoder."""
    check_well_formed(prompt)
    tokens, most = prompt.tokens, prompt.max_tokens
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
    if isinstance(decoder, Checks):
        decoder.check(prompt)
    most = likeliest(decoder.schedule)
    if prompt.logprobs is not None and not 0 <= prompt.logprobs <= (-1 if most is None else most):
        raise RequestError(
            f"log probabilities of the {prompt.logprobs} likeliest tokens: {decoder.schedule.source.name} "
            f"gives {told_of(most)}: ask for what it gives, or for none"
        )
