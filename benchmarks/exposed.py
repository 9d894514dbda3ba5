"""Exposed communication of an expert layer, from the run's trace, against max(0, T_comm - T_independent).

Two local ranks exchange over a paced link, which says so: each message takes a time that is set, and to
wait for it needs no core. The shared expert stands behind the exchange, in its slot, or between a send
and its receive hook. T_comm is what the exchange took on its own stream, or where it has none what the
link says of its message; T_independent what the shared expert took; both of the same round. Beside it
gloo as it is, with what its exchange took when awaited at once.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor

from plait.bench.paired import Pair
from plait.compiler.compile import Asked, compile_source, read_source
from plait.runtime.bind import bind
from plait.runtime.exchange.base import Received
from plait.runtime.exchange.distributed import Distributed
from plait.runtime.exchange.exposed import exposed, spent
from plait.runtime.exchange.flight import Flight
from plait.runtime.exchange.link import GroupLink, Link
from plait.runtime.exchange.paced import PacedLink
from plait.runtime.exchange.sizes import Sizes
from plait.runtime.trace import Trace

SPEC = Path(__file__).with_suffix(".spec")
PLACES = {"nothing": "awaited at once", "slot": "shared expert in the slot", "hook": "hook"}
EXCHANGE = 0.15
"""Seconds that a paced exchange takes."""
COMPUTE = 0.08
"""Seconds that the shared expert takes, at least."""
RANKS = 2


class Seen(NamedTuple):
    """One round, in seconds."""

    exposed: float
    communication: float | None
    """None: the link does not say."""
    independent: float
    """Work beside the exchange."""

    @property
    def expected(self) -> float:
        assert self.communication is not None
        return max(0.0, self.communication - self.independent)


def run(rounds: int = 20) -> Iterator[Pair]:
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "seen.json")
        launch = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
        program = ["--nproc-per-node", str(RANKS), "-m", "benchmarks.exposed"]
        command = [*launch, *program, str(out), str(rounds)]
        subprocess.run(command, check=True, timeout=600, stderr=subprocess.DEVNULL)
        found = json.loads(out.read_text(encoding="utf-8"))
    for name, kind, seen in found:
        rows = [Seen(*one) for one in seen]
        paced = "paced" in name
        yield _pair(f"exposed / expected, {name}, {kind}", rows, paced)


def _pair(name: str, seen: list[Seen], judged: bool) -> Pair:
    """Of rounds that expect none there is no ratio: then the time is held against all of the exchange."""
    ratios = [one.exposed / (one.expected or one.communication or 1) for one in seen]
    return Pair(
        name,
        "s",
        statistics.median(one.exposed for one in seen),
        statistics.median(one.expected for one in seen),
        statistics.median(ratios),
        tuple(statistics.quantiles(ratios, n=4)[::2]),  # type: ignore[arg-type]
        len(seen),
        most=1.1 if judged else None,
        least=0.9 if judged else None,
    )


class ExpertLayer:
    """The bodies of one place of the shared expert, which takes `compute` seconds at least."""

    def __init__(self, place: str, link: Link, compute: float = COMPUTE):
        self.schedule = compile_source(
            read_source(SPEC), Asked(settings={"place": place}, environment={})
        )
        settings = dict(self.schedule.settings)
        rows, hidden = settings["n"], settings["hidden"]
        assert isinstance(rows, int) and isinstance(hidden, int)
        self.link = link
        self.compute = compute
        self.exchange = Distributed(Sizes(link.ranks, link.rank, 8, 2, hidden, rows), link)
        self.weight = torch.randn(hidden, hidden)
        self.flight: Flight[Received] | None = None

    def measured(self, rounds: int) -> list[Seen]:
        trace = Trace()
        layer = {
            name: getattr(self, name)
            for name in ("gate", "dispatch", "send", "receive", "shared_expert", "add")
        }
        sizes = self.exchange.sizes
        recv = torch.zeros(sizes.local, sizes.ranks * sizes.capacity, sizes.hidden)
        opaque = {"recv": recv, "sent": torch.zeros(1)}
        needed = {b.name for b in self.schedule.buffers if b.opaque}
        given = {name: value for name, value in opaque.items() if name in needed}
        with bind(self.schedule, layer, opaque=given, trace=trace) as runner:
            for _ in range(rounds + 1):
                runner.step()
                runner.drain()
        seen = range(1, rounds + 1)  # the first has more to do
        took = exposed(self.schedule, trace, "main", ["receive"])
        beside = spent(trace, "main", ["shared_expert"])
        place = dict(self.schedule.settings)["place"]
        communication: dict[int, int | None] = dict.fromkeys(seen)
        if place != "hook":
            communication |= spent(trace, "dispatch", ["dispatch"])
        elif isinstance(self.link, PacedLink):
            communication |= {n: one.due - one.sent for n, one in enumerate(self.link.carried)}
        return [
            Seen(
                took[number] / 1e9,
                None if (sent := communication[number]) is None else sent / 1e9,
                0.0 if place == "nothing" else beside[number] / 1e9,
            )
            for number in seen
        ]

    def gate(self, x: Tensor, ids: Tensor) -> None:
        ids.copy_(torch.arange(ids.numel()).view(ids.shape) % self.exchange.sizes.experts)

    def dispatch(self, x: Tensor, ids: Tensor, recv: Tensor) -> None:
        recv.copy_(self.exchange.send(x, ids).receive().rows)

    def send(self, x: Tensor, ids: Tensor, sent: Tensor) -> None:
        self.flight = self.exchange.send(x, ids)

    def receive(self, sent: Tensor, recv: Tensor) -> None:
        assert self.flight is not None
        recv.copy_(self.flight.receive().rows)

    def shared_expert(self, x: Tensor, shared: Tensor) -> None:
        until = time.perf_counter() + self.compute
        while time.perf_counter() < until:
            torch.matmul(x, self.weight, out=shared)

    def add(self, recv: Tensor, shared: Tensor, x: Tensor) -> None:
        x.copy_(shared.tanh())


def paced(link: Link, seconds: float = EXCHANGE) -> PacedLink:
    """No faster than that the layer's message takes so long."""
    settings = dict(compile_source(read_source(SPEC), Asked(environment={})).settings)
    rows, hidden = settings["n"], settings["hidden"]
    assert isinstance(rows, int) and isinstance(hidden, int)
    return PacedLink(link, 8 * rows * (hidden + 1) * 4 / seconds)


def main(out: str, rounds: int) -> None:
    """One rank; the first writes what it saw."""
    import torch.distributed as dist

    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    found = []
    for place, kind in PLACES.items():
        link = paced(GroupLink())
        found.append((link.name, kind, ExpertLayer(place, link).measured(rounds)))
    found += [("gloo", kind, seen) for kind, seen in _unpaced(rounds)]
    if dist.get_rank() == 0:
        Path(out).write_text(json.dumps(found), encoding="utf-8")
    dist.destroy_process_group()


def _unpaced(rounds: int) -> Iterator[tuple[str, list[Seen]]]:
    """Gloo as it is, which does not say what an exchange with a hook takes: as awaited at once."""
    took = None
    for place, kind in PLACES.items():
        seen = ExpertLayer(place, GroupLink()).measured(rounds)
        took = took or statistics.median(one.exposed for one in seen)
        yield kind, [one._replace(communication=one.communication or took) for one in seen]


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
