"""How many tokens a round commits, as a distribution: what its time is divided by."""

from __future__ import annotations

from fractions import Fraction

from plait.dsl.record import Record

MOST_TOKENS = 1024


class AcceptedError(Exception):
    """A text that is no distribution of accept lengths."""


class Accepted(Record):
    """Tokens committed in a round, each count with its share of rounds; shares sum to 1."""

    shares: tuple[tuple[Fraction, Fraction], ...]
    """By tokens. One that is no whole number is a mean that was measured."""

    @property
    def mean(self) -> Fraction:
        return sum((tokens * share for tokens, share in self.shares), Fraction(0))

    def __str__(self) -> str:
        return f"{float(self.mean):.3g} tokens a round"


def read_accepted(text: str) -> Accepted:
    """A mean such as `2.3`, or tokens with weights such as `1:0.2,2:0.5,3:0.3`. Raises AcceptedError."""
    wanted = "a mean such as 2.3, or counts with weights such as 1:0.2,2:0.5,3:0.3"
    weights: dict[Fraction, Fraction] = {}
    for part in text.split(","):
        tokens, colon, weight = part.partition(":")
        count, share = _number(tokens), _number(weight) if colon else Fraction(1)
        if count is None or share is None or not 0 < count <= MOST_TOKENS or count in weights:
            raise AcceptedError(f"{text:.60}: should be {wanted}")
        if colon and count.denominator != 1:
            raise AcceptedError(
                f"{text:.60}: {tokens.strip()} is no count of tokens; it should be {wanted}"
            )
        if not colon and "," in text:
            raise AcceptedError(f"{text:.60}: {part.strip()} has no weight; it should be {wanted}")
        weights[count] = share
    whole = sum(weights.values())
    if not whole:
        raise AcceptedError(f"{text:.60}: all weights are 0; it should be {wanted}")
    return Accepted(tuple(sorted((count, share / whole) for count, share in weights.items())))


def _number(text: str) -> Fraction | None:
    """Of decimals, at most twelve characters."""
    text = text.strip()
    whole, _, part = text.partition(".")
    plain = len(text) <= 12 and whole.isascii() and (whole + part).isdecimal() and part.isascii()
    return Fraction(text) if plain and whole else None
