"""Order, wiring and races of long rounds: against networkx's reduction, ten times as long, twice as deep."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import networkx

from benchmarks.paired import Pair, paired, timed
from plait.compiler.compile import Asked, prove, read_source
from plait.compiler.conflicts import races
from plait.compiler.order import order
from plait.compiler.round import Edge, Phase, Round
from plait.dsl.span import Source

STREAMS = 6
DEEP = Path(__file__).parents[1] / "examples" / "deepseek_v4.spec"

HEAD = """\
spec 1
pipeline wide {
"""


def wide(phases: int) -> Round:
    """Six streams that hand a value on, each to the next, in turn."""
    lines = [HEAD, *(f"  stream s{n}" for n in range(STREAMS))]
    lines += [f"  buffer x{n} : i64[4] carried" for n in range(STREAMS)]
    lines.append(f"  for i in 0 .. {phases // STREAMS - 1} {{")
    for n in range(STREAMS):
        lines.append(f"    phase p{n}[i] on s{n} {{ updates x{n} }}")
        after = (n + 1) % STREAMS
        lines.append(f"    fork s{after} from p{n}[i]")
    lines += ["  }", "  join s0 into host", "}"]
    return prove(Source("wide.spec", "\n".join(lines)), Asked(environment={})).orders[0].round


def graph_of(round: Round) -> networkx.DiGraph:
    """One round as networkx takes it: the order of streams, and the edges."""
    graph = networkx.DiGraph()
    newest: dict[int, int] = {}
    waiting: dict[int, list[int]] = {}
    for place, item in enumerate(round.items):
        if isinstance(item, Phase):
            before = [*waiting.pop(item.stream, []), newest.get(item.stream)]
            graph.add_edges_from((one, place) for one in before if one is not None)
            newest[item.stream] = place
        elif isinstance(item, Edge) and item.target:
            source = round.places[item.source.kind, item.source.number]
            waiting.setdefault(item.target, []).append(source)
    return graph


def judged(round: Round) -> None:
    races(order(round))


def proven(layers: int) -> float:
    source = read_source(DEEP)
    asked = Asked(settings={"layers": layers}, environment={})
    return timed(lambda: prove(source, asked))


def run(turns: int = 5) -> Iterator[Pair]:
    round, longer = wide(10_000), wide(100_000)
    graph = graph_of(round)
    yield paired(
        "networkx's reduction of 10,000 phases / order, wiring and races",
        lambda: timed(lambda: networkx.transitive_reduction(graph)),
        lambda: timed(lambda: judged(round)),
        1,
    )
    yield paired(
        "order and races of 100,000 phases / of 10,000",
        lambda: timed(lambda: judged(longer)),
        lambda: timed(lambda: judged(round)),
        turns,
    )
    yield paired("all buckets of 61 layers / of 30", lambda: proven(61), lambda: proven(30), turns)
