"""A round through its schedule against a loop written by hand, and noted against not noted."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

from plait.bench.paired import Pair, paired
from plait.bench.rounds import Hand, rounds
from plait.runtime.devices.named import device
from plait.runtime.eagle.compare import AnyCheckpoint
from plait.runtime.schedule import Schedule
from plait.runtime.trace import Trace


def scheduled(
    checkpoint: AnyCheckpoint,
    schedule: Schedule,
    sizes: tuple[int, ...],
    turns: int,
    replayed: str = "",
) -> Iterator[Pair]:
    """`replayed`: what the names say of how graphs are."""
    for bs in sizes:
        with rounds(checkpoint, schedule, bs) as made:
            hand = Hand(made)
            made.took()
            hand.took()
            name = f"scheduled round / hand-written loop{replayed}, bs = {bs}"
            yield paired(name, made.took, hand.took, turns, "s a round")


def noted(
    checkpoint: AnyCheckpoint, schedule: Schedule, sizes: tuple[int, ...], turns: int
) -> Iterator[Pair]:
    """Of every phase when it began and ended, as `--trace` and `plait serve` note it."""
    for bs in sizes:
        with ExitStack() as stack:
            trace = Trace()
            noting = stack.enter_context(
                rounds(checkpoint, schedule, bs, device=device("cpu", trace), trace=trace)
            )
            plain = stack.enter_context(rounds(checkpoint, schedule, bs))
            noting.took()
            plain.took()
            name = f"round noted / not noted, bs = {bs}"
            yield paired(name, noting.took, plain.took, turns, "s a round")
