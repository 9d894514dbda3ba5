"""`plait bench`: what this machine makes of a round, as ratios of two that took turns."""

from __future__ import annotations

import argparse
import json
import os
import platform
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from plait import __version__
from plait.commands.asked import write_whole
from plait.commands.log import show_log
from plait.commands.outputs import outputs_asked
from plait.commands.progress import progress
from plait.commands.refusing import refusing_runs
from plait.exit import FINE, Refused

if TYPE_CHECKING:
    from plait.bench.paired import Pair
    from plait.runtime.schedule import Schedule

DESCRIPTION = (
    "Decode with a model that comes with Plait and measure: speculation against plain decoding, by requests "
    "and drafted tokens; replay of graphs against their phases run eagerly; a round against a loop written "
    "by hand; and a round that is noted against one that is not. Both of a pair take turns, so that they "
    "meet the same noise; a figure is the median of their ratios, with its quartiles. Takes a minute or two."
)
EXAMPLE = "for example: `plait bench`, `plait bench speculation --turns 40 --write here.json`"
PARTS = {
    "speculation": "tokens a second over those of plain decoding",
    "replay": "graphs replayed against run eagerly",
    "overhead": "a round against a loop written by hand",
    "noting": "a round that is noted against one that is not",
}
SPECS = {"tiny": "eagle.spec", "small-llama": "lookup.spec"}
SIZES = (1, 4, 8)
STEPS = (1, 2, 3)
WIDTH = 58
"""Of a figure's name."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "parts",
        nargs="*",
        metavar="PART",
        help="; ".join(f"{name}: {what}" for name, what in PARTS.items()) + "; default all",
    )
    parser.add_argument("--model", choices=tuple(SPECS), default="tiny", help="default tiny")
    parser.add_argument("--device", default="cpu", metavar="NAME", help="default cpu")
    parser.add_argument(
        "--turns", type=int, default=16, metavar="N", help="of each pair; default 16"
    )
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    parser.add_argument(
        "--write", metavar="FILE", help="write the figures as JSON, when all are there"
    )


def run(options: argparse.Namespace) -> int:
    for part in options.parts:
        if part not in PARTS:
            raise Refused(f"there is no part `{part}` to measure: name any of {', '.join(PARTS)}")
    if options.turns < 2:
        raise Refused(f"--turns {options.turns}: ask for at least 2, so that there are quartiles")
    outputs_asked(options, ("write",))
    show_log("bench")
    with refusing_runs():
        found = _measured(options)
    text = json.dumps(found, indent=2) + "\n"
    if options.json:
        print(text, end="", flush=True)
    if options.write:
        write_whole(options.write, text)
    return FINE


def _measured(options: argparse.Namespace) -> dict[str, Any]:
    """All of it as JSON values; each figure is printed when it is there. Raises what a run raises."""
    import torch

    from plait.runtime.devices.named import device

    made = device(options.device)
    try:
        if made.name != "cpu":
            raise Refused(
                f"--device {options.device}: what is measured here is decoded on the CPU; "
                "a GPU is measured by `python -m benchmarks.cuda_check` in a checkout"
            )
        kind = made.capture_kind
    finally:
        made.close()
    torch.set_num_threads(1)  # as `plait run`: plain decoding has the terms of a stream
    about = {
        "plait": __version__,
        "torch": torch.__version__,
        "platform": platform.platform(),
        "cores": len(os.sched_getaffinity(0)),
        "model": options.model,
        "mode": "f32",
        "spec": SPECS[options.model],
        "device": options.device,
        "replay": kind,
        "turns": options.turns,
    }
    if not options.json:
        print(_heading(about), flush=True)
    figures = []
    with torch.no_grad():
        for part, pair in _pairs(options):
            progress("")
            figures.append({"part": part, **pair.as_data()})
            if not options.json:
                print(_line(pair), flush=True)
    progress("")
    return {**about, "figures": figures}


def _pairs(options: argparse.Namespace) -> Iterator[tuple[str, Pair]]:
    from plait.bench.overhead import noted, scheduled
    from plait.bench.replay import replayed
    from plait.bench.speculation import speculated
    from plait.runtime.models.shipped import load

    checkpoint = load(options.model)
    parts = {"replay": replayed, "overhead": scheduled, "noting": noted}
    for part in options.parts or PARTS:
        if part == "speculation":
            for steps in STEPS:
                progress(f"measuring {part}, num_steps = {steps}")
                schedule = _schedule(options.model, steps)
                among = f", num_steps = {steps}"
                found = speculated(checkpoint, schedule, SIZES, options.turns, among=among)
                yield from ((part, pair) for pair in found)
            continue
        progress(f"measuring {part}")
        found = parts[part](checkpoint, _schedule(options.model), SIZES, options.turns)
        yield from ((part, pair) for pair in found)


def _schedule(model: str, steps: int | None = None) -> Schedule:
    from pathlib import Path

    import plait
    from plait.compiler.compile import Asked, compile_source, read_source
    from plait.dsl.span import Source

    path = Path(plait.__file__).parent / "examples" / SPECS[model]
    settings = {} if steps is None else {"num_steps": Source("bench", f"num_steps={steps}")}
    return compile_source(read_source(str(path)), Asked(settings=settings, environment={}))


def _heading(about: dict[str, Any]) -> str:
    return (
        f"{about['model']} in f32 by {about['spec']} on {about['device']}, {about['cores']} of its cores, "
        f"torch {about['torch']}, graphs: {about['replay']}\n"
        f"median of the ratios of {about['turns']} turns, their quartiles, and the medians of both sides\n"
    )


def _line(pair: Pair) -> str:
    low, high = pair.spread
    return (
        f"{pair.name:<{WIDTH}} {pair.ratio:>5.2f} x  {low:>5.2f} to {high:<5.2f} "
        f" {_side(pair.ours, pair.unit)} against {_side(pair.peer, pair.unit)}"
    )


def _side(figure: float, unit: str) -> str:
    """`131 tokens/s`, or of seconds `3.2 ms a round`."""
    from plait.dsl.render.figures import shown

    first, _, rest = unit.partition(" ")
    return f"{shown(round(figure * 1e9))} {rest}" if first == "s" else f"{figure:,.0f} {unit}"
