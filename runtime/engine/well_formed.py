"""Whether a prompt is of the kinds it says, so that a slip of one request fails no round of the others."""

from __future__ import annotations

import math
from collections.abc import Callable, Set
from typing import Any

from plait.runtime.eagle.request import RequestError
from plait.runtime.engine.prompt import Prompt, Sampling

SEEDS = 1 << 63

Fits = Callable[[Any], bool]


def check_well_formed(prompt: Prompt) -> None:
    """Raises RequestError for a field that holds no value of its kind."""
    _check("prompt", prompt, _is(Prompt), "a Prompt")
    for name, fits, wanted in OF_PROMPT:
        _check(name, getattr(prompt, name), fits, wanted)
    for name, fits, wanted in OF_SAMPLING:
        _check(f"sampling.{name}", getattr(prompt.sampling, name), fits, wanted)


def _check(name: str, value: object, fits: Fits, wanted: str) -> None:
    if not fits(value):
        raise RequestError(f"{name} should be {wanted}, and not {repr(value)[:60]}")


def _is(*kinds: type) -> Fits:
    return lambda value: isinstance(value, kinds)


def _tuple_of(kind: type) -> Fits:
    return lambda value: isinstance(value, tuple) and all(isinstance(one, kind) for one in value)


def _whole(least: int, most: int) -> Fits:
    return lambda value: isinstance(value, int) and least <= value <= most


def _number(least: float, most: float) -> Fits:
    return lambda value: isinstance(value, (int, float)) and least <= value <= most


def _or_none(fits: Fits) -> Fits:
    return lambda value: value is None or fits(value)


OF_PROMPT: tuple[tuple[str, Fits, str], ...] = (
    ("tokens", _tuple_of(int), "a tuple of whole numbers"),
    ("max_tokens", _is(int), "a whole number"),
    ("sampling", _is(Sampling), "a Sampling"),
    ("stop_tokens", _is(Set), "a frozenset of tokens"),
    ("stop_texts", _tuple_of(str), "a tuple of texts"),
    ("logprobs", _or_none(_is(int)), "a whole number or None"),
    ("priority", _is(int), "a whole number"),
    ("deadline", _or_none(_number(-math.inf, math.inf)), "a number of seconds or None"),
)
OF_SAMPLING: tuple[tuple[str, Fits, str], ...] = (
    ("temperature", _number(0, 1e6), "a number from 0 to 1000000"),
    ("top_k", _whole(0, SEEDS - 1), "a whole number from 0 up to 2^63 - 1"),
    ("top_p", _number(0, 1), "a number from 0 to 1"),
    ("seed", _whole(-SEEDS, SEEDS - 1), "a whole number from -2^63 up to 2^63 - 1"),
)
