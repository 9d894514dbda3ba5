"""Costs calibrated on one run of the embedded model, against rounds of other settings, measured untraced.

The run that is calibrated on decodes at `num_steps = 2` and meets every bucket; a part of its rounds is
traced. Settings and run take turns, so that all meet the same noise. The median error over the settings
is to be under 15 %, or under what a setting differs from turn to turn where that is more; and less than if
each took as long as the calibrated rounds of its bucket.
"""

from __future__ import annotations

import itertools
import statistics
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from plait.bench.paired import Pair
from plait.compiler.calibrate.fit import fitted
from plait.compiler.calibrate.own import own_samples
from plait.compiler.calibrate.served import foretold, measured
from plait.compiler.compile import Asked, compile_source, read_source
from plait.compiler.timing.costs import Profile
from plait.dsl.span import Source
from plait.runtime.eagle.compare import requests_for
from plait.runtime.eagle.speculative import Speculative
from plait.runtime.models.tiny.checkpoint import Checkpoint, load_checkpoint
from plait.runtime.models.tiny.model import TinyModel
from plait.runtime.schedule import Schedule
from plait.runtime.schedule_reader import from_json
from plait.runtime.trace import Trace

EXAMPLE = Path(__file__).parent.parent / "examples" / "eagle.spec"
SIZES = (1, 2, 4, 8)
WINDOW = 32
"""Rounds of a setting in each turn."""
STARTING = 6
"""Of those, the first, which do not count."""
TRACED = 12
"""Rounds that are traced, and then as many that are not."""
MOST = 0.15


@dataclass
class Setting:
    name: str
    bs: int
    asked: Asked
    seen: list[float] = field(default_factory=list)
    """Nanoseconds of a round, the median of each turn."""


def settings() -> list[Setting]:
    return [
        Setting("num_steps = 1", 1, _asked(1)),
        Setting("num_steps = 1", 8, _asked(1)),
        Setting("num_steps = 3", 1, _asked(3)),
        Setting("num_steps = 3", 4, _asked(3)),
        Setting("num_steps = 3", 8, _asked(3)),
        Setting("num_steps = 4", 2, _asked(4)),
        Setting("num_steps = 4", 8, _asked(4)),
        Setting("num_steps = 4, serial", 4, _asked(4, variant="serial")),
        Setting("no_extend_graph", 2, _asked(2, no_extend_graph=True)),
        Setting("no captures", 8, _asked(2, capture=False)),
    ]


def _asked(steps: int, variant: str | None = None, capture: bool = True, **flags: bool) -> Asked:
    given = {"num_steps": steps, **{name: str(value).lower() for name, value in flags.items()}}
    texts = {name: Source("--set", f"{name}={value}") for name, value in given.items()}
    return Asked(variant=variant, settings=texts, capture=capture, environment={})


def run(turns: int = 24) -> Iterator[Pair]:
    torch.set_num_threads(1)
    torch.set_grad_enabled(False)
    checkpoint = load_checkpoint()
    model = checkpoint.model("f32")
    trace = Trace(TRACED)
    others = settings()
    schedule, calibrated = _decoding(checkpoint, model, _asked(2), max(SIZES), trace)
    made = [_decoding(checkpoint, model, one.asked, one.bs) for one in others]
    windows = [*SIZES, *zip(others, made, strict=True)]
    for turn in range(turns):
        for window in _rotated(windows, turn):
            if isinstance(window, int):
                _rounds(calibrated, window, 4 * TRACED + STARTING)
                continue
            one, (_, decoding) = window
            one.seen.append(statistics.median(_rounds(decoding, one.bs, WINDOW)[STARTING:]))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.json"
        path.write_text(trace.to_json(schedule.name, schedule))
        samples = own_samples(path, from_json)
    found = fitted(samples, "one run")
    print(*(f"# {line}" for line in found.comments[""]), sep="\n")
    same = {schedule.buckets[bucket].sizes[0][1]: t for (_, bucket), t in measured(samples).items()}
    yield _judged(others, [one for one, _ in made], found.profile, same, turns)
    for decoding in (calibrated, *(one for _, one in made)):
        decoding.close()


def _rotated(windows: Sequence[Any], turn: int) -> list[Any]:
    """Another order in each turn, so that none always follows the same one."""
    turned = [*windows[turn % len(windows) :], *windows[: turn % len(windows)]]
    return turned[::-1] if turn % 2 else turned


def _decoding(
    checkpoint: Checkpoint, model: TinyModel, asked: Asked, bs: int, trace: Trace | None = None
) -> tuple[Schedule, Speculative]:
    schedule = compile_source(read_source(EXAMPLE), asked)
    prompts = list(itertools.islice(itertools.cycle(checkpoint.prompts), bs))
    decoding = Speculative(schedule, model, requests_for(checkpoint, prompts, 100), trace=trace)
    decoding.advance(1)
    return schedule, decoding


def _rounds(decoding: Speculative, bs: int, count: int) -> list[int]:
    """Nanoseconds from one issued round to the next."""
    moments = []
    for _ in range(count):
        decoding.runner.step(bs=bs)
        moments.append(time.perf_counter_ns())
    decoding.runner.drain()
    return [b - a for a, b in itertools.pairwise(moments)]


def _judged(
    others: Sequence[Setting],
    schedules: Sequence[Schedule],
    profile: Profile,
    same: dict[int, int],
    turns: int,
) -> Pair:
    errors, naive, spreads, times = [], [], [], []
    print(f"{'':<28}{'measured':>12}{'foretold':>12}{'error':>9}{'same as 2':>11}{'spread':>9}")
    for one, schedule in zip(others, schedules, strict=True):
        bucket = schedule.buckets.index(schedule.bucket_for(bs=one.bs))
        expected = foretold([schedule], profile, (0, bucket))
        low, middle, high = statistics.quantiles(one.seen, n=4)
        error, other = expected / middle - 1, same[one.bs] / middle - 1
        spread = (high - low) / 2 / middle
        errors.append(abs(error))
        naive.append(abs(other))
        spreads.append(spread)
        times.append(middle)
        print(
            f"{one.name + f', bs = {one.bs}':<28}{middle / 1000:>9,.0f} us{expected / 1000:>9,.0f} us"
            f"{error:>+9.1%}{other:>+11.1%}{spread:>9.1%}"
        )
    allowed = max(MOST, statistics.median(spreads))
    print(f"round times span {max(times) / min(times):.1f} x; {allowed:.0%} is allowed")
    ours, peer = statistics.median(errors), statistics.median(naive)
    low, _, high = statistics.quantiles(errors, n=4)
    return Pair(
        f"median error of a foretold round ({len(errors)} settings; as calibrated: {peer:.1%})",
        "of a round",
        ours,
        peer,
        ours,
        (low, high),
        turns,
        most=min(allowed, peer),
    )
