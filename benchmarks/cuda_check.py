"""Schedules on a GPU, held against the CPU and a loop written by hand: `python -m benchmarks.cuda_check`.

Examples are compiled for the target `cuda` and run at their smallest bucket and a large one with bodies
that mix whole numbers: each output is made of every declared input, so that the CPU, on which the same
schedule runs too, has the very same bits or something went wrong. Then the round of EAGLE decodes with the
model that comes with Plait, and its tokens are held against plain decoding on the CPU. The loop by hand
issues the same phases on one stream, with `torch.cuda.graph` for the captures. Exit 1 when values differ,
3 without a GPU.
"""

from __future__ import annotations

import argparse
import sys
import time
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from math import prod
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from plait.bench.paired import Pair, paired
from plait.compiler.compile import Asked, compile_source, read_source
from plait.runtime.bind import bind
from plait.runtime.devices.accelerator.accelerator import Accelerator
from plait.runtime.devices.accelerator.kinds import KINDS, Kind
from plait.runtime.devices.base import DeviceError
from plait.runtime.eagle.compare import requests_for
from plait.runtime.eagle.plain import Plain
from plait.runtime.eagle.speculative import Speculative
from plait.runtime.models.arithmetic import Arithmetic
from plait.runtime.models.tiny.checkpoint import load_checkpoint
from plait.runtime.models.tiny.model import TinyModel
from plait.runtime.runner import Runner
from plait.runtime.schedule import Bucket, Schedule

EXAMPLES = Path(__file__).parent.parent / "examples"
NAMES = (
    *(
        "eagle",
        "eagle_serial",
        "accept_length",
        "adaptive",
        "attention_dp",
        "draft_steps",
        "dspark",
    ),
    *("extend_planning", "graph_vote", "moe", "offload", "operating_points", "tree", "two_batch"),
    "verify_planning",
)
"""All that the target takes: `eagle_full` and `deepseek_v4` read flags of NPUs."""
ROUNDS = 6
A_TURN = 20
"""Rounds of one measurement."""
TURNS = 10
CYCLE = 2
"""Rounds after which copies come again, at most."""
MOST_BYTES = 1 << 25
"""Of buffers that are still worth mixing on the CPU."""
MOST_SECONDS = 240
"""After which no example is begun."""
PROMPTS, TOKENS = 4, 48
ODD = 0x5851F42D4C957F2D


@dataclass(frozen=True)
class Row:
    name: str
    bucket: str
    graphs: int
    """Replays of a round."""
    same: bool
    pair: Pair | None = None
    """A round of the schedule against the loop by hand, in microseconds."""

    def __str__(self) -> str:
        values = "same" if self.same else "DIFFER"
        times = " " * 33
        if self.pair is not None:
            found = self.pair
            times = f"{found.ours:10.1f} {found.peer:10.1f} {found.ratio:9.2f} x"
        return f"{self.name:14} {self.graphs:6} {values:>7} {times}  {self.bucket}"


HEAD = f"{'example':14} {'graphs':>6} {'values':>7} {'plait us':>10} {'hand us':>10} {'ratio':>11}  bucket"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.cuda_check")
    parser.add_argument("names", nargs="*", metavar="EXAMPLE", help=f"default {', '.join(NAMES)}")
    options = parser.parse_args()
    if unknown := set(options.names) - set(NAMES):
        parser.error(f"there is no example {', '.join(sorted(unknown))} here")
    try:
        device = Accelerator(KINDS["cuda"])
    except DeviceError as error:
        print(f"not run: {error}", file=sys.stderr)
        return 3
    device.close()
    torch.set_num_threads(1)
    print(f"torch {torch.__version__}, {torch.cuda.get_device_name()}\n\n{HEAD}")
    names = list(options.names or NAMES)
    fine, late = True, time.monotonic() + MOST_SECONDS
    while names and time.monotonic() < late:
        for row in rows("cuda", names.pop(0)):
            print(row, flush=True)
            fine = fine and row.same
    if names:
        print(f"left out, as {MOST_SECONDS} seconds are over: {', '.join(names)}")
    return 0 if fine and not names else 1


def rows(kind: str, name: str) -> Iterator[Row]:
    """The rows of one example, on a target of that kind."""
    target = {"cuda": "cuda", "npu": "ascend910c"}[kind]
    schedule = compile_source(
        read_source(EXAMPLES / f"{name}.spec"), Asked(environment={}, target=target)
    )
    fitting = [one for one in schedule.buckets if _bytes(one) < MOST_BYTES]
    for bucket in dict.fromkeys((*fitting[:1], *fitting[-1:])):
        yield _mixed(kind, name, schedule, bucket)
    if name == "eagle":
        yield _decoded(kind, target)


def _mixed(kind: str, name: str, schedule: Schedule, bucket: Bucket) -> Row:
    live = {**dict(bucket.sizes), **dict(bucket.route)}
    with _bound(schedule, Accelerator(KINDS[kind])) as ours, _bound(schedule, "cpu") as cpu:
        for _ in range(ROUNDS):
            ours.step(**live)
            cpu.step(**live)
        ours.drain()
        cpu.drain()
        same = all(
            torch.equal(one.cpu(), other)
            for copies, others in zip(_left(schedule, ours), _left(schedule, cpu), strict=True)
            for one, other in zip(copies, others, strict=True)
        )
        replays = sum(
            graph["replays"] for entry in ours.counts() for graph in entry["graphs"].values()
        )
        hand = _Hand(kind, schedule, live)
        pair = paired(f"{name} / by hand", partial(_time, ours, live), hand.time, TURNS, "us")
    return Row(name, bucket.name, replays // ROUNDS, same, pair)


def _bound(schedule: Schedule, device: Any) -> Runner:
    where = torch.device("cpu") if isinstance(device, str) else device.place
    bodies = {phase.name: _body(schedule, phase.name) for phase in schedule.phases}
    opaque = {
        buffer.name: lambda **sizes: torch.zeros(64, dtype=torch.int64, device=where)
        for buffer in schedule.buffers
        if buffer.opaque
    }
    regions = _regions(schedule)
    opaque |= {name: partial(_zeros, shape, where) for name, shape in regions.items()}
    return bind(schedule, bodies, opaque=opaque, device=device, arena=False, strict=True)


def _zeros(shape: tuple[int, ...], where: torch.device, **sizes: int) -> Tensor:
    return torch.zeros(shape, dtype=torch.int64, device=where)


def _regions(schedule: Schedule) -> dict[str, tuple[int, ...]]:
    """Of every opaque buffer that phases take parts of, a shape that has them all."""
    found: dict[str, list[int]] = {}
    for bucket in schedule.buckets:
        for phase, regions in zip(schedule.phases, bucket.regions, strict=True):
            for argument, region in zip(phase.arguments, regions, strict=False):
                buffer = schedule.buffers[argument.buffer]
                if not buffer.opaque or not region:
                    continue
                ends = [1 if a is None else a[1] if isinstance(a, tuple) else a + 1 for a in region]
                sizes = found.setdefault(buffer.name, [])
                sizes += [1] * (len(ends) - len(sizes))
                sizes[:] = [
                    max(pair) for pair in zip(sizes, [*ends, *sizes[len(ends) :]], strict=True)
                ]
    return {name: (*sizes, 4) for name, sizes in found.items()}


def _body(schedule: Schedule, name: str) -> Callable[..., None]:
    """Each output is made of all bytes of every input, and of the phase, in whole numbers of 64 bits."""
    salt = zlib.crc32(name.encode())
    forms = {
        frozenset(argument.name for argument in phase.arguments): {
            argument.name: argument.kind for argument in phase.arguments
        }
        for phase in schedule.phases
        if phase.name == name
    }

    def body(**given: Tensor) -> None:
        kinds = sorted(forms[frozenset(given)].items())
        places = {value.device for value in given.values()}
        where = next((place for place in places if place.type != "cpu"), torch.device("cpu"))
        mixed = torch.full((), salt, dtype=torch.int64, device=where)
        for argument, kind in kinds:
            if kind != "writes":
                mixed = (mixed ^ _hash(given[argument], where)) * ODD
        for number, (argument, kind) in enumerate(kinds):
            if kind != "reads":
                _fill(given[argument], mixed * (2 * number + 3), where)

    return body


def _hash(value: Tensor, where: torch.device) -> Tensor:
    if value.device != where and not value.is_contiguous():  # it is the host that takes it together
        torch.get_device_module(where).current_stream().synchronize()
    there = value.to(where, non_blocking=True).clone(memory_format=torch.contiguous_format)
    words = there.reshape(-1).view(torch.uint8).to(torch.int64)
    weights = torch.arange(words.numel(), device=where) * ODD | 1
    found = ((words + 1) * weights).sum()
    return (found ^ (found >> 31)) * ODD


def _fill(into: Tensor, mixed: Tensor, where: torch.device) -> None:
    numbers = (torch.arange(into.numel(), device=where) + mixed) * ODD
    small = ((numbers ^ (numbers >> 29)) >> 40) & (1 if into.dtype == torch.bool else 0x7F)
    into.copy_(small.view(into.shape).to(into.dtype), non_blocking=True)


def _left(schedule: Schedule, runner: Runner) -> list[list[Tensor]]:
    """Of every buffer that outlives a round, all copies."""
    return [
        [runner.buffer(buffer.name, back) for back in range(buffer.copies)]
        for buffer in schedule.buffers
        if not buffer.opaque
    ]


def _bytes(bucket: Bucket) -> int:
    return sum(8 * prod(shape) for shape in bucket.shapes if shape)


def _time(runner: Runner, live: dict[str, Any]) -> float:
    start = time.perf_counter()
    for _ in range(A_TURN):
        runner.step(**live)
    runner.drain()
    return (time.perf_counter() - start) / A_TURN * 1e6


class _Hand:
    """The loop that someone would write: all phases on one stream, in order, captures by `torch.cuda.graph`.

    It waits where the schedule has the host wait, and nowhere else.
    """

    def __init__(self, kind: str, schedule: Schedule, live: dict[str, Any]):
        blocks = [one.of for program in schedule.programs for one in program if one.op == "block"]
        self.device = _OneStream(KINDS[kind], {schedule.events[number].name for number in blocks})
        self.runner = _bound(schedule, self.device)
        self.rounds = [self._listed(live) for _ in range(CYCLE)]
        self.round = 0

    def _listed(self, live: dict[str, Any]) -> list[Callable[[], object]]:
        self.device.listed = []
        self.runner.step(**live)
        return self.device.listed

    def time(self) -> float:
        module = self.device.module
        start = time.perf_counter()
        with torch.no_grad(), module.stream(self.device.only):
            for _ in range(A_TURN):
                for call in self.rounds[self.round % CYCLE]:
                    call()
                self.round += 1
        module.synchronize()
        return (time.perf_counter() - start) / A_TURN * 1e6


class _OneStream(Accelerator):
    """Has one stream, runs nothing, and lists what a round is."""

    def __init__(self, kind: Kind, waited: set[str]):
        super().__init__(kind)
        self.waited = waited
        """Events that the host waits for."""
        self.module = torch.get_device_module(kind.name)
        self.only = self.module.Stream()
        self.listed: list[Callable[[], object]] = []

    def host(self) -> Any:
        return _ListedHost(self)

    def stream(self, name: str, kind: str) -> Any:
        return _Listed(self)

    def capture(self, name, place, steps, written, pool=None) -> Any:
        jobs = [what for op, _, what, _ in steps if op in ("run", "task")]
        with torch.no_grad(), self.module.stream(self.only):
            for job in jobs:
                job()
            self.module.synchronize()
            graph = getattr(self.module, self.kind.names["graph"].path)()
            with self.module.graph(graph, stream=self.only):
                for job in jobs:
                    job()
        return graph


class _Listed:
    def __init__(self, device: _OneStream):
        self.device = device

    def begin(self, round: int) -> None:
        pass

    def run(self, job: Any) -> None:
        self.device.listed.append(job)

    def rebind(self, job: Any, tasks: Any) -> None:
        self.device.listed.append(job)

    def replay(self, graph: Any) -> None:
        self.device.listed.append(graph.replay)

    def record(self, event: Any) -> None:
        if event.name in self.device.waited:
            self.device.listed.append(event.native.record)

    def wait(self, event: Any) -> None:
        pass


class _ListedHost(_Listed):
    def wait(self, event: Any) -> None:
        self.device.listed.append(event.native.synchronize)

    def leave(self) -> None:
        pass


def _decoded(kind: str, target: str) -> Row:
    """The model that comes with Plait, whose sums are exact: its tokens there are those of the CPU."""
    checkpoint = load_checkpoint()
    schedule = compile_source(
        read_source(EXAMPLES / "eagle.spec"), Asked(environment={}, target=target)
    )
    prompts = list(checkpoint.prompts[:PROMPTS])
    plain = requests_for(checkpoint, prompts, TOKENS)
    stepping = Plain(checkpoint.model("exact"), plain, [PROMPTS])
    while stepping.advance(TOKENS):
        pass
    requests = requests_for(checkpoint, prompts, TOKENS)
    weights = {name: weight.to(kind) for name, weight in checkpoint.weights.items()}
    with torch.device(kind):
        model = TinyModel(checkpoint.shape, weights, Arithmetic("exact"))
        decoding = Speculative(schedule, model, requests, device=kind)
        try:
            while decoding.advance(A_TURN):
                pass
        finally:
            decoding.close()
    same = all(one.tokens == other.tokens for one, other in zip(requests, plain, strict=True))
    rounds = max(decoding.runner.rounds, 1)
    replays = sum(
        g["replays"] for entry in decoding.runner.counts() for g in entry["graphs"].values()
    )
    return Row("eagle, decoded", f"{PROMPTS} prompts", replays // rounds, same)


if __name__ == "__main__":
    sys.exit(main())
