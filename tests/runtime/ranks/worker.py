"""One rank of a launch: runs the scenarios it is told to, and prints of each what came of it."""

from __future__ import annotations

import itertools
import json
import os
import signal
import sys
import time
from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist

from plait.compiler.compile import Asked, compile_source
from plait.dsl.span import Source
from plait.runtime.devices.job import PhaseError
from plait.runtime.ranks.environment import from_environment
from plait.runtime.ranks.group import Ranks
from plait.runtime.runner import BindError, Runner
from plait.runtime.schedule import Schedule

ROUND = """\
spec 1
pipeline p {
  param more = 0
  group tp
  dim bs in [1, 2, 4] over tp
  guard ready over tp
  stream main
  buffer counts : i64[4] on host copies 2
  buffer x      : i64[4] carried
  buffer taken  : i64[1] carried
  phase count on host { writes counts  collective all_gather over tp }
  capture g on main rows bs when ready {
    phase step on main { updates x  collective all_reduce over tp }
  }
  phase take on main skip_idle { reads x  updates taken }
}
"""
NESTED = """\
spec 1
pipeline p {
  group world = 4
  group tp = 2 in world
  dim bs in [1, 2, 4] over world
  guard ready over tp
  stream main
  buffer x : i64[4] carried
  buffer y : i64[4]
  capture g on main rows bs when ready {
    phase step on main { updates x  collective all_reduce over tp }
  }
  phase sum on main { reads x  writes y  collective all_reduce over world }
}
"""
SAME = """\
spec 1
pipeline p {
  group tp
  dim bs in [1, 2, 4] same over tp
  guard ready same over tp
  stream main
  buffer x : i64[bs] carried
  phase add on main { updates x }
}
"""
SCENARIOS: dict[str, Callable[[], Any]] = {}
GROUPS: dict[str, Any] = {}
LONG, SHORT = 20.0, 2.0
"""Seconds that ranks wait for each other: where all come, and where one does not."""

library = torch.library.Library("tests", "FRAGMENT")
library.define("sum_over_ranks(Tensor(a!) x, str group) -> ()")
library.impl(
    "sum_over_ranks", lambda x, group: dist.all_reduce(x, group=GROUPS[group].device), "CPU"
)


def scenario(run: Callable[[], Any]) -> Callable[[], Any]:
    SCENARIOS[run.__name__] = run
    return run


def compiled(text: str = ROUND, **settings: Any) -> Schedule:
    return compile_source(Source("round.spec", text), Asked(settings=settings))


def ranks(schedule: Schedule, seconds: float = LONG) -> Ranks:
    found = from_environment(schedule, seconds=seconds)
    GROUPS.clear()
    GROUPS.update(found.groups)
    return found


def step(x: torch.Tensor) -> None:
    torch.ops.tests.sum_over_ranks(x, "tp")


def sum_over_world(x: torch.Tensor, y: torch.Tensor) -> None:
    y.copy_(x)
    torch.ops.tests.sum_over_ranks(y, "world")


def count(counts: torch.Tensor) -> None:
    parts = [counts[n : n + 1] for n in range(dist.get_world_size())]
    dist.all_gather(parts, torch.tensor([RANK + 1]), group=GROUPS["tp"].host)


def take(x: torch.Tensor, taken: torch.Tensor) -> None:
    taken.add_(1)


BODIES = {"step": step, "count": count, "take": take, "sum": sum_over_world}


def bound(schedule: Schedule, seconds: float = LONG, **bodies: Callable) -> Runner:
    return schedule.bind(BODIES | bodies, ranks=ranks(schedule, seconds))


def error_of(run: Callable[[], Any]) -> str:
    try:
        run()
    except (BindError, PhaseError) as error:
        return f"{type(error).__name__}: {error}"
    return "no error"


def used(runner: Runner) -> list[Any]:
    """Of each route that was taken: its size, whether all were willing, rounds, and replays."""
    return [
        [
            entry["sizes"]["bs"],
            entry["route"]["ready"],
            entry["rounds"],
            graphs and graphs["replays"],
        ]
        for entry in runner.counts()
        if entry["rounds"]
        for graphs in [entry["graphs"].get("g")]
    ]


@scenario
def agreed() -> Any:
    """Rounds with one rank unwilling, one smaller, one idle, all idle."""
    with bound(compiled()) as runner:
        runner.prepare()
        runner.buffer("x").fill_(RANK + 1)
        runner.step(bs=1 + 3 * RANK, ready=True)
        runner.step(bs=1, ready=RANK == 0)
        if RANK == 0:
            runner.step(bs=2, ready=True)
        else:
            runner.idle()
        runner.idle()
        runner.drain()
        buffers = {name: runner.buffer(name).tolist() for name in ("x", "taken", "counts")}
        log = [line for line in runner.peers.log() if line.startswith("tp ")]
        return {"used": used(runner), **buffers, "log": log}


@scenario
def other_schedule() -> Any:
    return error_of(lambda: bound(compiled(more=RANK)))


@scenario
def late() -> Any:
    """Rank 1 comes to the graph of the second round when rank 0 has given up."""
    slow = iter([0.0, 2 * SHORT])

    def slow_count(counts: torch.Tensor) -> None:
        count(counts)
        if RANK == 1:
            time.sleep(next(slow))

    def run() -> None:
        with bound(compiled(), SHORT, count=slow_count) as runner:
            runner.step(bs=1, ready=True)
            if RANK == 1:
                runner.drain()  # so that its graph is not what it came to last
            for _ in range(2):
                runner.step(bs=1, ready=True)

    return error_of(run)


@scenario
def fails() -> Any:
    """A phase of rank 1 that meets nobody raises."""

    def failing(x: torch.Tensor, taken: torch.Tensor) -> None:
        if RANK == 1 and int(taken) == 1:
            raise ValueError("no tokens")
        taken.add_(1)

    def run() -> None:
        with bound(compiled(), SHORT, take=failing) as runner:
            for _ in range(3):
                runner.step(bs=1, ready=True)
                runner.drain()

    return error_of(run)


@scenario
def closes() -> Any:
    """Rank 1 ends two rounds before rank 0."""

    def run() -> None:
        with bound(compiled(), SHORT) as runner:
            for _ in range(3 - 2 * RANK):
                runner.step(bs=1, ready=True)

    return error_of(run)


@scenario
def killed() -> Any:
    """Rank 1 is killed in the middle of the second round."""

    calls = itertools.count()

    def dying(counts: torch.Tensor) -> None:
        count(counts)
        if RANK == 1 and next(calls) == 1:
            os.kill(os.getpid(), signal.SIGKILL)

    with bound(compiled(), SHORT, count=dying) as runner:
        runner.prepare()
        return error_of(lambda: [(runner.step(bs=1, ready=True), runner.drain()) for _ in range(3)])


@scenario
def same() -> Any:
    """What ranks should give alike differs in the second round: of a guard, and then of a size."""

    def run(*rounds: dict[str, Any]) -> str:
        def steps() -> None:
            with schedule.bind({"add": lambda x: x.add_(1)}, ranks=ranks(schedule)) as runner:
                for live in rounds:
                    runner.step(**live)

        return error_of(steps)

    schedule = compiled(SAME)
    alike = {"bs": 3, "ready": True}
    rounds = [alike, {"bs": 3, "ready": RANK == 0}, {"bs": 1 + RANK, "ready": True}]
    found = [run(*rounds)]
    os.environ["PLAIT_CHECK"] = "1"
    found += [run(alike, other) for other in rounds]
    del os.environ["PLAIT_CHECK"]
    return found


@scenario
def nested() -> Any:
    """Two groups of two in one of four: of a pair one is unwilling, and all run the largest bucket."""
    schedule = compiled(NESTED)
    with bound(schedule) as runner:
        runner.buffer("x").fill_(RANK + 1)
        runner.step(bs=1 + RANK, ready=RANK != 3)
        runner.drain()
        return {"used": used(runner), "x": runner.buffer("x").tolist()}


@scenario
def killed_of_four() -> Any:
    """Rank 3 is killed in the second round, before the sum over all."""

    calls = itertools.count()

    def dying(x: torch.Tensor, y: torch.Tensor) -> None:
        if RANK == 3 and next(calls) == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        sum_over_world(x, y)

    with bound(compiled(NESTED), SHORT, sum=dying) as runner:
        return error_of(lambda: [(runner.step(bs=1, ready=True), runner.drain()) for _ in range(3)])


def main() -> None:
    for name in sys.argv[1:]:
        print(json.dumps([name, SCENARIOS[name]()]), flush=True)
    print(json.dumps(["done", None]), flush=True)
    os._exit(0)  # groups that were broken are not torn down in turn


RANK = int(os.environ.get("RANK", "0"))

if __name__ == "__main__":
    torch.set_num_threads(1)
    main()
