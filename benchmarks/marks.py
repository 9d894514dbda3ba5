"""What marks for a profiler cost: a round of no-op phases bound with them off, and on, against one
whose runner was made without any word of marks.

Off, the same objects run, so the ratio is 1 but for noise; at most 1.05 is the aim.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

from plait.bench.paired import Pair, paired
from plait.compiler.compile import Asked, compile_source
from plait.dsl.span import Source
from plait.runtime.bind import bind, load_program
from plait.runtime.devices.named import device
from plait.runtime.runner import Runner

PHASES = 200
ROUNDS = 20
SPEC = "\n".join(
    [
        "spec 1",
        "pipeline marked {",
        "  stream a",
        "  buffer x : i64[1] carried",
        f"  for i in 0 .. {PHASES - 1} {{ phase one[i] on a {{ updates x }} }}",
        "}",
        "",
    ]
)


def run(turns: int = 60) -> Iterator[Pair]:
    schedule = compile_source(Source("marked.spec", SPEC), Asked(environment={}))
    bodies = {"one": _nothing}
    with (
        Runner(load_program(schedule), bodies, None, device("cpu")) as plain,
        bind(schedule, bodies) as off,
        bind(schedule, bodies, marks="profiler") as on,
    ):
        yield paired(
            "round with marks off / without", _rounds(off), _rounds(plain), turns, most=1.05
        )
        yield paired("round with marks on / without", _rounds(on), _rounds(plain), turns)


def _nothing(x: object, index: int) -> None:
    """No work, so that what is around it shows."""


def _rounds(runner: Runner) -> Callable[[], float]:
    def measured() -> float:
        start = time.perf_counter()
        for _ in range(ROUNDS):
            runner.step()
        runner.drain()
        return (time.perf_counter() - start) / ROUNDS

    return measured
