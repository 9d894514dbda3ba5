"""`plait serve` on several ranks: what each of them decodes with, and what all but the first do."""

from __future__ import annotations

import argparse
import signal
import sys
from typing import TYPE_CHECKING

from plait.commands.refusing import refusing_runs
from plait.exit import FINE, WRONG_ENVIRONMENT, Refused

if TYPE_CHECKING:
    from plait.runtime.eagle.parallel_decoder import ParallelDecoder
    from plait.runtime.models.small_llama.checkpoint import LlamaCheckpoint
    from plait.runtime.models.tiny.checkpoint import Checkpoint
    from plait.runtime.ranks.group import Ranks
    from plait.runtime.schedule import Schedule


def exchanges(schedule: Schedule) -> bool:
    """Whether its experts lie on the ranks of a group, be it of one."""
    return any(
        phase.collective is not None and phase.collective.kind == "low_latency"
        for phase in schedule.phases
    )


def parallel_decoder(
    options: argparse.Namespace, schedule: Schedule, checkpoint: Checkpoint | LlamaCheckpoint
) -> tuple[ParallelDecoder, Ranks | None]:
    """Waits for the other ranks, if there are any. Raises Refused, and what `refusing_runs` knows."""
    from plait.runtime.eagle.parallel_decoder import ParallelDecoder
    from plait.runtime.eagle.together import Together
    from plait.runtime.models.checkpoint import WEIGHTS
    from plait.runtime.models.tiny.checkpoint import Checkpoint
    from plait.runtime.ranks.group import WATCHDOG, seconds_to_wait

    if not isinstance(checkpoint, Checkpoint):
        raise Refused(f"--model {options.model}: it has no experts to lay on several ranks")
    if options.pages is not None:
        raise Refused(
            f"--pages {options.pages}: in {schedule.source.name} a row has a whole context, and no pages"
        )
    try:
        alike = {
            "--mode": options.mode,
            "--device": options.device,
            "--no-trace": str(not options.trace).lower(),
            "--model": checkpoint.report["sha256"][WEIGHTS][:12],
            WATCHDOG: f"{seconds_to_wait():g}",
        }
        ranks = Together(schedule, options.device, alike).ranks
    except ValueError as error:  # of the watchdog, or of what a launcher should have set
        raise Refused(str(error), WRONG_ENVIRONMENT) from None
    return ParallelDecoder(schedule, checkpoint.model(options.mode), ranks), ranks


def follow_first(options: argparse.Namespace, schedule: Schedule, rank: int) -> int:
    """Serves nobody, and has its part in what the first rank serves."""
    import torch

    from plait.runtime.buckets import shown_sizes
    from plait.runtime.engine.leading import follow
    from plait.runtime.models.shipped import load
    from plait.runtime.serve.log import log_lines, say

    torch.set_num_threads(1)
    log_lines(sys.stderr, rank)
    leaving = False

    def leave(*_: object) -> None:
        nonlocal leaving
        leaving = True

    def begun() -> None:
        # Rank 0 says when all end: it has requests that need this rank.
        for one in (signal.SIGTERM, signal.SIGINT):
            signal.signal(one, leave)
        say("ready")

    with refusing_runs():
        checkpoint = load(options.model)
        decoder, ranks = parallel_decoder(options, schedule, checkpoint)
        assert ranks is not None
        counts = follow(
            decoder,
            ranks,
            device=options.device,
            trace=options.trace,
            begun=begun,
            leaving=lambda: leaving,
        )
    rounds = {
        shown_sizes(entry["sizes"] | entry["route"]): entry["rounds"]
        for entry in counts
        if entry["rounds"]
    }
    say("ended", rounds=rounds)
    return FINE
