"""What it costs to have phases run that do nothing: by Plait, by hand, by schedulers of task graphs.

The generated program of a round against the same calls written by hand, on streams that only take
calls: at most 1.5 times is the aim. And a task of a long round on two streams of the CPU, issued and
waited for, against one of the same graph by `concurrent.futures` and by dask's threaded scheduler: at
least 5 and 30 times less are the aims.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import networkx
import torch

from benchmarks.check_growth import long
from benchmarks.order_growth import graph_of
from plait.bench.paired import Pair, paired, spent
from plait.compiler.compile import Asked, compile_source, prove, read_source
from plait.runtime.bind import bind
from plait.runtime.devices.cpu import Cpu
from plait.runtime.devices.host import Host
from plait.runtime.devices.streams import Stream
from plait.runtime.runner import Runner
from plait.runtime.schedule import Schedule

EXAMPLE = Path(__file__).parent.parent / "examples" / "eagle.spec"
PHASES = 1_000
ROUNDS = 1_000
IN_A_ROW = 5


def nothing(**given: object) -> None:
    pass


TASK = partial(nothing, x=torch.zeros(1))
"""What others are given to do: a phase, with what it is called with."""


class SilentStream(Stream):
    """Takes calls and does none of them."""

    def run(self, job: Any) -> None:
        pass

    def replay(self, graph: Any) -> None:
        pass

    def record(self, event: Any) -> None:
        pass

    def wait(self, event: Any) -> None:
        pass


class SilentHost(Host):
    def run(self, job: Any) -> None:
        pass

    def wait(self, event: Any) -> None:
        pass


def run(turns: int = 41) -> Iterator[Pair]:
    torch.set_num_threads(1)
    torch.set_grad_enabled(False)
    schedule = compile_source(read_source(EXAMPLE), Asked(environment={}))
    streams = {
        "streams that only take calls": Cpu(stream=SilentStream, host=SilentHost),
        "streams of the CPU": Cpu(),
    }
    for name, device in streams.items():
        yield _program(f"generated program / by hand, on {name}", schedule, device, turns)
    yield from _tasks(turns)


def _program(name: str, schedule: Schedule, device: Cpu, turns: int) -> Pair:
    with _bound(schedule, device) as runner:
        runner.step(bs=1)
        runner.drain()
        generated, *_ = runner._bound[0]
        ours = _Issued(runner, partial(_at, generated, [{"bs": 1}]))
        peer = _Issued(runner, by_hand(generated))
        return paired(name, ours.spent, peer.spent, turns, most=1.5)


def _bound(schedule: Schedule, device: Cpu) -> Runner:
    """Every phase does nothing, and every opaque buffer is one number."""
    bodies = {phase.body: nothing for phase in schedule.phases}
    opaque = {one.name: torch.zeros(1) for one in schedule.buffers if one.opaque}
    return bind(schedule, bodies, opaque=opaque, device=device)


def _at(round: Callable[..., None], live: list[dict[str, int]], number: int) -> None:
    round(number, live)


class _Issued:
    """Rounds issued one after another, and waited for in the end."""

    def __init__(self, runner: Runner, round: Callable[[int], None]):
        self.runner = runner
        self.round = round

    def spent(self) -> float:
        return spent(self._issue) / ROUNDS

    def _issue(self) -> None:
        round, leave = self.round, self.runner._streams[0].leave
        for number in range(ROUNDS):
            round(number)
            leave()
        self.runner.drain()


def by_hand(generated: Callable[[int], None]) -> Callable[[int], None]:
    """The round of eagle.spec as a person would write it, with what the generated one holds."""
    cells = zip(generated.__code__.co_freevars, generated.__closure__ or (), strict=True)
    held = {name: cell.cell_contents for name, cell in cells}
    host, main, plan, copy = (held[f"s{n}"] for n in range(4))
    drafted, planned, accepted, plan_extended = (held[f"e{n}"][0] for n in range(4))
    published = held["e4"]
    load_draft, load_verify, load_extend = held["l0"][0], held["l1"][0], held["l2"]
    draft, verify, extend = (held[f"g{n}"][0] for n in range(3))
    build_tree, plan_verify = held["p2"][0], held["p3"][0]
    accept, plan_extend, publish, commit = (held[f"p{n}"] for n in (5, 6, 8, 9))

    def round(number: int) -> None:
        now = number % 2
        main.run(load_draft)
        main.replay(draft)
        main.run(build_tree)
        main.record(drafted)
        plan.wait(drafted)
        plan.run(plan_verify)
        plan.record(planned)
        main.wait(planned)
        main.run(load_verify)
        main.replay(verify)
        main.run(accept[now])
        main.record(accepted)
        plan.wait(accepted)
        plan.run(plan_extend[now])
        plan.record(plan_extended)
        main.wait(plan_extended)
        main.run(load_extend[now])
        main.replay(extend)
        copy.wait(accepted)
        copy.run(publish[now])
        copy.record(published[now])
        host.wait(published[1 - now])
        host.run(commit[now])

    return round


def _tasks(turns: int) -> Iterator[Pair]:
    source = long(PHASES)
    graph = graph_of(prove(source, Asked(environment={})).orders[0].round)
    with (
        _bound(compile_source(source, Asked(environment={})), Cpu()) as runner,
        ThreadPoolExecutor(2) as pool,
    ):

        def ours() -> None:
            runner.step(bs=4)
            runner.drain()

        peers = (
            ("concurrent.futures", _Futures(graph, pool), 5),
            ("dask.threaded", _dask(graph), 30),
        )
        for name, peer, least in peers:
            yield paired(
                f"{name} / Plait, a task of {PHASES:,} that do nothing, beyond calling it",
                partial(_beyond_calls, peer),
                partial(_beyond_calls, ours),
                turns,
                least=least,
            )


def _beyond_calls(round: Callable[[], object]) -> float:
    """What a task costs, of a few rounds in a row as rounds come, less what it costs to call it."""
    whole = spent(lambda: [round() for _ in range(IN_A_ROW)])
    calls = spent(lambda: [TASK() for _ in range(IN_A_ROW * PHASES)])
    return (whole - calls) / IN_A_ROW / PHASES


class _Futures:
    """Each task is submitted by the last of those that it comes after."""

    def __init__(self, graph: networkx.DiGraph, pool: ThreadPoolExecutor):
        self.graph = graph
        self.pool = pool
        self.lock = threading.Lock()
        self.done = threading.Event()

    def __call__(self) -> None:
        self.missing = dict(self.graph.in_degree())
        self.left = len(self.missing)
        self.done.clear()
        for task, count in list(self.missing.items()):
            if not count:
                self.pool.submit(self._task, task)
        self.done.wait()

    def _task(self, task: int) -> None:
        TASK()
        with self.lock:
            self.left -= 1
            ready = []
            for after in self.graph.successors(task):
                self.missing[after] -= 1
                if not self.missing[after]:
                    ready.append(after)
            if not self.left:
                self.done.set()
        for after in ready:
            self.pool.submit(self._task, after)


def _dask(graph: networkx.DiGraph) -> Callable[[], object]:
    """The same graph in dask's own form."""
    from dask.threaded import get  # pyright: ignore[reportMissingImports]

    def task(*before: object) -> None:
        TASK()

    tasks = {str(one): (task, *map(str, graph.predecessors(one))) for one in graph}
    last = [str(one) for one in graph if not graph.out_degree(one)]
    return lambda: get(tasks, last, num_workers=2)
