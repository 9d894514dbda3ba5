"""Order, wiring and races of long rounds: against networkx's reduction, ten times as long, twice as deep."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import networkx

from benchmarks.check_growth import long
from plait.bench.paired import Pair, paired, spent
from plait.compiler.compile import Asked, prove, read_source
from plait.compiler.order import order
from plait.compiler.races.conflicts import races
from plait.compiler.round import Edge, Phase, Round
from plait.dsl.span import Source

STREAMS = 6
LONGEST = 60.0
"""Seconds that networkx is waited for; what takes longer is foreseen from smaller graphs."""
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
    """What each thing waits for, what of that is kept, and what has no order."""
    races(order(round))


def reduced(graph: networkx.DiGraph) -> float:
    return spent(lambda: networkx.transitive_reduction(graph))


def peer(graph: networkx.DiGraph) -> tuple[str, float]:
    """How long networkx takes, and what is to be said of that: where it is too long, by its own growth."""
    half, quarter = reduced(graph_of(wide(5_000))), reduced(graph_of(wide(2_500)))
    foreseen = half * half / quarter
    if foreseen > LONGEST:
        return f", foreseen from {quarter:.1f} s for 2,500 and {half:.1f} s for 5,000", foreseen
    return "", reduced(graph)


def proven(layers: int) -> float:
    source = read_source(DEEP)
    asked = Asked(settings={"layers": layers}, environment={})
    return spent(lambda: prove(source, asked))


def unrolled(layers: int) -> int:
    """The phases of all buckets."""
    asked = Asked(settings={"layers": layers}, environment={})
    return sum(len(one.round.phases) for one in prove(read_source(DEEP), asked).orders)


def plain(phases: int) -> float:
    """To prove a spec without calls, of so many phases."""
    source = long(phases)
    return spent(lambda: prove(source, Asked(environment={})))


def run(turns: int = 5) -> Iterator[Pair]:
    round, longer = wide(10_000), wide(100_000)
    how, theirs = peer(graph_of(round))
    yield paired(
        f"networkx's reduction of 10,000 phases{how} / order, wiring and races",
        lambda: theirs,
        lambda: spent(lambda: judged(round)),
        turns,
        least=100,
    )
    yield paired(
        "order, wiring and races of 100,000 phases / of 10,000",
        lambda: spent(lambda: judged(longer)),
        lambda: spent(lambda: judged(round)),
        turns,
        most=13,
    )
    yield paired(
        "DeepSeek-V4, all buckets: 61 layers / 30",
        lambda: proven(61),
        lambda: proven(30),
        turns,
        most=2.5,
    )
    phases = unrolled(61)
    yield paired(
        f"DeepSeek-V4 of 61 layers, its {phases:,} phases / as many of a plain spec",
        lambda: proven(61),
        lambda: plain(phases),
        turns,
        most=3,
    )
