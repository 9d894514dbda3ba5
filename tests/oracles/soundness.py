"""Many random rounds, safe ones and the same with one order broken, before all judges."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from random import Random

from drawing.safe import broken, safe_round
from oracles.judge import judged


@dataclass
class Seen:
    rounds: int = 0
    accepted: int = 0
    """With an order between two streams that is needed."""
    refused: int = 0
    """For one missing edge."""
    every: int = 0
    """Accepted, and all interleavings were looked at."""
    failures: list[str] = field(default_factory=list)
    """Texts that the judges do not agree on."""


def soundness(seed: str, count: int) -> Seen:
    """So many rounds, the same for a seed."""
    seen = Seen()
    for text, safe, crossing, random in _texts(seed):
        found = judged(text, random)
        seen.rounds += 1
        if not found.agreed or bool(found.errors) == safe:
            seen.failures.append(text)
        elif safe:
            seen.accepted += crossing
            seen.every += found.every
        else:
            seen.refused += 1
        if seen.rounds == count:
            return seen
    raise AssertionError("texts do not end")


def _texts(seed: str) -> Iterator[tuple[str, bool, bool, Random]]:
    """Each with whether it is safe, and whether that hangs on an edge."""
    number = 0
    while True:
        random = Random(f"{seed} {number}")
        number += 1
        safe = safe_round(random)
        less = broken(safe, random)
        yield safe.text(), True, less is not None, random
        if less is not None:
            yield less.text(), False, True, random
