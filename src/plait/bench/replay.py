"""Replay of every captured segment against its phases run eagerly."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from plait.bench.paired import Pair, paired, spent
from plait.bench.rounds import rounds
from plait.runtime.devices.cpu import Cpu
from plait.runtime.devices.graph import Replayer
from plait.runtime.devices.replayers import replayer
from plait.runtime.eagle.compare import AnyCheckpoint
from plait.runtime.schedule import Schedule

REPLAYS = 10
"""Of a turn."""


class Watched(Cpu):
    """Keeps every graph, and the calls that it was captured from."""

    def __init__(self, launch: Replayer):
        super().__init__(launch)
        self.seen: list[tuple[Any, list[Callable]]] = []

    def capture(self, name: str, place: str, steps: list[Any], *rest: Any, **more: Any) -> Any:
        graph = super().capture(name, place, steps, *rest, **more)
        self.seen.append((graph, [what for op, _, what, _ in steps if op in ("run", "task")]))
        return graph


def replayed(
    checkpoint: AnyCheckpoint,
    schedule: Schedule,
    sizes: tuple[int, ...],
    turns: int,
    *,
    kind: str | None = None,
    least: float | None = None,
) -> Iterator[Pair]:
    """Graphs of each size that has a bucket, replayed by a tier or else by the best that is here.

    What counts is time of the processor, since streams run beside nothing here.
    """
    for bs in sizes:
        device = Watched(replayer(kind))
        tier = device.capture_kind.partition(":")[0]
        with rounds(checkpoint, schedule, bs, device=device):
            largest_first = device.seen[: sum(bool(one.phases) for one in schedule.captures)]
            for graph, calls in largest_first:
                yield paired(
                    f"eager / {tier} replay, {graph.name} of {graph.kernels} kernels, bs = {bs}",
                    partial(_each, calls),
                    partial(_each, [graph.replay]),
                    turns,
                    "s of the processor",
                    least=least,
                )


def _each(calls: list[Callable]) -> float:
    return spent(lambda: [call() for _ in range(REPLAYS) for call in calls]) / REPLAYS
